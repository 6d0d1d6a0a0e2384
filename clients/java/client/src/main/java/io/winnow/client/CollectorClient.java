package io.winnow.client;

import io.winnow.collector.v1.BatchGetItemsRequest;
import io.winnow.collector.v1.BatchPutItemsRequest;
import io.winnow.collector.v1.CollectorServiceGrpc;
import io.winnow.collector.v1.GetItemRequest;
import io.winnow.collector.v1.GetItemResult;
import io.winnow.collector.v1.IngestItemsRequest;
import io.winnow.collector.v1.Item;
import io.winnow.collector.v1.ListItemsRequest;
import io.winnow.collector.v1.PutItemResult;
import io.winnow.collector.v1.StoredItem;
import java.util.Iterator;
import java.util.List;
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
   * Stores a stream of items of any length and tells {@code answered} of each with its result, in
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
