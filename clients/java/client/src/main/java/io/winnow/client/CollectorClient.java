package io.winnow.client;

import io.winnow.collector.v1.BatchGetItemsRequest;
import io.winnow.collector.v1.BatchPutItemsRequest;
import io.winnow.collector.v1.CollectorServiceGrpc;
import io.winnow.collector.v1.CreateSourceRequest;
import io.winnow.collector.v1.CreateSourceResponse;
import io.winnow.collector.v1.DeleteSourceRequest;
import io.winnow.collector.v1.DeleteSourceResponse;
import io.winnow.collector.v1.GetItemRequest;
import io.winnow.collector.v1.GetItemResult;
import io.winnow.collector.v1.GetQuotaRequest;
import io.winnow.collector.v1.GetQuotaResponse;
import io.winnow.collector.v1.GetSourceRequest;
import io.winnow.collector.v1.GetSourceResponse;
import io.winnow.collector.v1.ImportOpmlRequest;
import io.winnow.collector.v1.ImportOpmlResponse;
import io.winnow.collector.v1.IngestItemsRequest;
import io.winnow.collector.v1.Item;
import io.winnow.collector.v1.ListItemsRequest;
import io.winnow.collector.v1.ListRunsRequest;
import io.winnow.collector.v1.ListSourcesRequest;
import io.winnow.collector.v1.PauseSourceRequest;
import io.winnow.collector.v1.PauseSourceResponse;
import io.winnow.collector.v1.PutItemResult;
import io.winnow.collector.v1.ResumeSourceRequest;
import io.winnow.collector.v1.ResumeSourceResponse;
import io.winnow.collector.v1.Run;
import io.winnow.collector.v1.RunSourceRequest;
import io.winnow.collector.v1.RunSourceResponse;
import io.winnow.collector.v1.Source;
import io.winnow.collector.v1.StoredItem;
import io.winnow.collector.v1.UpdateSourceRequest;
import io.winnow.collector.v1.UpdateSourceResponse;
import io.winnow.collector.v1.WatchRunsRequest;
import io.winnow.collector.v1.WatchRunsResponse;
import java.util.Iterator;
import java.util.List;
import java.util.UUID;
import java.util.function.BiConsumer;

/** CollectorService: raw items in, and reading them back. Every call is safe to repeat. */
public final class CollectorClient {
  private final Connection connection;

  CollectorClient(Connection connection) {
    this.connection = connection;
  }

  /** Stores up to 1,000 items; one result each, in order. */
  public List<Result<StoredItem>> batchPutItems(List<Item> items) {
    var request = BatchPutItemsRequest.newBuilder().addAllItems(items).build();
    return connection
        .call(CollectorServiceGrpc.getBatchPutItemsMethod(), request)
        .getResultsList()
        .stream()
        .map(CollectorClient::result)
        .toList();
  }

  /**
   * Stores a stream of items of any length and reports each to {@code answered} with its result, in
   * order. Goes on over a lost connection: what was not answered is sent again.
   */
  public void ingestItems(Iterator<Item> items, BiConsumer<Item, Result<StoredItem>> answered) {
    Ingest.run(
        connection,
        CollectorServiceGrpc.getIngestItemsMethod(),
        items,
        item -> IngestItemsRequest.newBuilder().setItem(item).build(),
        (item, response) -> answered.accept(item, result(response.getResult())));
  }

  /** Reads one item. */
  public Item getItem(String id) {
    var request = GetItemRequest.newBuilder().setId(id).build();
    return connection.call(CollectorServiceGrpc.getGetItemMethod(), request).getItem();
  }

  /** Reads up to 1,000 items; one result each, in order. */
  public List<Result<Item>> batchGetItems(List<String> ids) {
    var request = BatchGetItemsRequest.newBuilder().addAllIds(ids).build();
    return connection
        .call(CollectorServiceGrpc.getBatchGetItemsMethod(), request)
        .getResultsList()
        .stream()
        .map(CollectorClient::result)
        .toList();
  }

  /** All items that the request asks for, newest arrival first, from its page token on. */
  public Pages<Item> items(ListItemsRequest request) {
    return new Pages<>(
        request.getPageToken(),
        token -> {
          var page =
              connection.call(
                  CollectorServiceGrpc.getListItemsMethod(),
                  request.toBuilder().setPageToken(token).build());
          return new Pages.Page<>(page.getItemsList(), page.getNextPageToken());
        });
  }

  /** Creates a source, which runs at once; the same again answers it. */
  public CreateSourceResponse createSource(CreateSourceRequest request) {
    return connection.call(CollectorServiceGrpc.getCreateSourceMethod(), request);
  }

  /** Reads one source. */
  public GetSourceResponse getSource(GetSourceRequest request) {
    return connection.call(CollectorServiceGrpc.getGetSourceMethod(), request);
  }

  /** Changes the fields of the mask; with an etag, if the source still has it. */
  public UpdateSourceResponse updateSource(UpdateSourceRequest request) {
    return connection.call(CollectorServiceGrpc.getUpdateSourceMethod(), request);
  }

  /** Deletes a source; its items and its runs stay. */
  public DeleteSourceResponse deleteSource(DeleteSourceRequest request) {
    return connection.call(CollectorServiceGrpc.getDeleteSourceMethod(), request);
  }

  /** Lets a source run no more. */
  public PauseSourceResponse pauseSource(PauseSourceRequest request) {
    return connection.call(CollectorServiceGrpc.getPauseSourceMethod(), request);
  }

  /** Lets a source that is paused or blocked run again, at once. */
  public ResumeSourceResponse resumeSource(ResumeSourceRequest request) {
    return connection.call(CollectorServiceGrpc.getResumeSourceMethod(), request);
  }

  /** Asks for a run now. */
  public RunSourceResponse runSource(RunSourceRequest request) {
    RunSourceRequest named =
        request.getRequestId().isEmpty()
            ? request.toBuilder().setRequestId(UUID.randomUUID().toString()).build()
            : request;
    return connection.call(CollectorServiceGrpc.getRunSourceMethod(), named);
  }

  /** Returns what the ledger knows of calls. */
  public GetQuotaResponse getQuota(GetQuotaRequest request) {
    return connection.call(CollectorServiceGrpc.getGetQuotaMethod(), request);
  }

  /** Creates a source for each feed of an OPML file that has none. */
  public ImportOpmlResponse importOpml(ImportOpmlRequest request) {
    return connection.call(CollectorServiceGrpc.getImportOpmlMethod(), request);
  }

  /** All sources that the request asks for, by id, from its page token on. */
  public Pages<Source> sources(ListSourcesRequest request) {
    return new Pages<>(
        request.getPageToken(),
        token -> {
          var page =
              connection.call(
                  CollectorServiceGrpc.getListSourcesMethod(),
                  request.toBuilder().setPageToken(token).build());
          return new Pages.Page<>(page.getSourcesList(), page.getNextPageToken());
        });
  }

  /** Runs that have ended, the last begun first, from the request's page token on. */
  public Pages<Run> runs(ListRunsRequest request) {
    return new Pages<>(
        request.getPageToken(),
        token -> {
          var page =
              connection.call(
                  CollectorServiceGrpc.getListRunsMethod(),
                  request.toBuilder().setPageToken(token).build());
          return new Pages.Page<>(page.getRunsList(), page.getNextPageToken());
        });
  }

  /**
   * Runs as they end. The first message has no run: its token says where the watch begins. After
   * an exception go on with the last message's token.
   */
  public Iterator<WatchRunsResponse> watchRuns(WatchRunsRequest request) {
    return connection.watch(CollectorServiceGrpc.getWatchRunsMethod(), request);
  }

  private static Result<StoredItem> result(PutItemResult result) {
    return result.hasError()
        ? new Result.Failed<>(WinnowException.from(result.getError()))
        : new Result.Ok<>(result.getStored());
  }

  private static Result<Item> result(GetItemResult result) {
    return result.hasError()
        ? new Result.Failed<>(WinnowException.from(result.getError()))
        : new Result.Ok<>(result.getItem());
  }
}
