package io.winnow.client;

import com.google.protobuf.FieldMask;
import io.winnow.dedup.v1.CheckDocumentRequest;
import io.winnow.dedup.v1.CitedOriginal;
import io.winnow.dedup.v1.CompareDocumentsRequest;
import io.winnow.dedup.v1.CompareDocumentsResponse;
import io.winnow.dedup.v1.Decision;
import io.winnow.dedup.v1.DedupServiceGrpc;
import io.winnow.dedup.v1.Document;
import io.winnow.dedup.v1.Duplicate;
import io.winnow.dedup.v1.GetCitationsRequest;
import io.winnow.dedup.v1.GetCitationsResponse;
import io.winnow.dedup.v1.GetDecisionRequest;
import io.winnow.dedup.v1.GetPolicyRequest;
import io.winnow.dedup.v1.GetStatsRequest;
import io.winnow.dedup.v1.GetStatsResponse;
import io.winnow.dedup.v1.IngestDocumentsRequest;
import io.winnow.dedup.v1.IngestDocumentsResponse;
import io.winnow.dedup.v1.ListDecisionsRequest;
import io.winnow.dedup.v1.ListDuplicatesRequest;
import io.winnow.dedup.v1.ListReviewQueueRequest;
import io.winnow.dedup.v1.ListTopCitedRequest;
import io.winnow.dedup.v1.OverrideDecisionRequest;
import io.winnow.dedup.v1.Policy;
import io.winnow.dedup.v1.PreviewPolicyRequest;
import io.winnow.dedup.v1.PreviewPolicyResponse;
import io.winnow.dedup.v1.ReviewItem;
import io.winnow.dedup.v1.SubmitDocumentRequest;
import io.winnow.dedup.v1.UpdatePolicyRequest;
import io.winnow.dedup.v1.WatchDecisionsRequest;
import io.winnow.dedup.v1.WatchDecisionsResponse;
import java.util.Iterator;
import java.util.List;
import java.util.function.BiConsumer;

/** DedupService: is a document the first of its story? Every call is safe to repeat. */
public final class DedupClient {
  private final Connection connection;

  DedupClient(Connection connection) {
    this.connection = connection;
  }

  /** Decides a document and remembers it; look at {@code recorded} before forgetting it. */
  public Decision submitDocument(Document document) {
    var request = SubmitDocumentRequest.newBuilder().setDocument(document).build();
    return connection.call(DedupServiceGrpc.getSubmitDocumentMethod(), request).getDecision();
  }

  /** Decides a stream of documents; see {@link CollectorClient#ingestItems}. */
  public void ingestDocuments(
      Iterator<Document> documents, BiConsumer<Document, Result<Decision>> answered) {
    Ingest.run(
        connection,
        DedupServiceGrpc.getIngestDocumentsMethod(),
        documents,
        document -> IngestDocumentsRequest.newBuilder().setDocument(document).build(),
        (document, response) -> answered.accept(document, result(response)));
  }

  /** Decides a document and remembers nothing. */
  public Decision checkDocument(Document document) {
    var request = CheckDocumentRequest.newBuilder().setDocument(document).build();
    return connection.call(DedupServiceGrpc.getCheckDocumentMethod(), request).getDecision();
  }

  /** Compares two documents: every score, every stage and why. */
  public CompareDocumentsResponse compareDocuments(Document earlier, Document later) {
    var request =
        CompareDocumentsRequest.newBuilder().setEarlier(earlier).setLater(later).build();
    return connection.call(DedupServiceGrpc.getCompareDocumentsMethod(), request);
  }

  /** Reads the decision on a document. */
  public Decision getDecision(String namespace, String documentId) {
    var request =
        GetDecisionRequest.newBuilder().setNamespace(namespace).setDocumentId(documentId).build();
    return connection.call(DedupServiceGrpc.getGetDecisionMethod(), request).getDecision();
  }

  /** The duplicates of an original, earliest arrival first. */
  public Pages<Duplicate> duplicates(ListDuplicatesRequest request) {
    return new Pages<>(
        request.getPageToken(),
        token -> {
          var page =
              connection.call(
                  DedupServiceGrpc.getListDuplicatesMethod(),
                  request.toBuilder().setPageToken(token).build());
          return new Pages.Page<>(page.getDuplicatesList(), page.getNextPageToken());
        });
  }

  /** Counts who repeated an original, by channel. */
  public GetCitationsResponse getCitations(String namespace, String originalId) {
    var request =
        GetCitationsRequest.newBuilder().setNamespace(namespace).setOriginalId(originalId).build();
    return connection.call(DedupServiceGrpc.getGetCitationsMethod(), request);
  }

  /** The rules of a namespace in force; version 0, or an earlier version. */
  public Policy getPolicy(String namespace, long version) {
    var request = GetPolicyRequest.newBuilder().setNamespace(namespace).setVersion(version).build();
    return connection.call(DedupServiceGrpc.getGetPolicyMethod(), request).getPolicy();
  }

  /** Changes the rules of a namespace; with an etag, only if they were not changed meanwhile. */
  public Policy updatePolicy(UpdatePolicyRequest request) {
    return connection.call(DedupServiceGrpc.getUpdatePolicyMethod(), request).getPolicy();
  }

  /** What the window's documents would be decided to be, and changes nothing. */
  public PreviewPolicyResponse previewPolicy(
      String namespace, Policy policy, List<String> fields) {
    var request =
        PreviewPolicyRequest.newBuilder()
            .setNamespace(namespace)
            .setPolicy(policy)
            .setUpdateMask(FieldMask.newBuilder().addAllPaths(fields))
            .build();
    return connection.call(DedupServiceGrpc.getPreviewPolicyMethod(), request);
  }

  /** Decisions that pass the request's filters, newest arrival first. */
  public Pages<Decision> decisions(ListDecisionsRequest request) {
    return new Pages<>(
        request.getPageToken(),
        token -> {
          var page =
              connection.call(
                  DedupServiceGrpc.getListDecisionsMethod(),
                  request.toBuilder().setPageToken(token).build());
          return new Pages.Page<>(page.getDecisionsList(), page.getNextPageToken());
        });
  }

  /** What was repeated within a time range, most first. */
  public Pages<CitedOriginal> topCited(ListTopCitedRequest request) {
    return new Pages<>(
        request.getPageToken(),
        token -> {
          var page =
              connection.call(
                  DedupServiceGrpc.getListTopCitedMethod(),
                  request.toBuilder().setPageToken(token).build());
          return new Pages.Page<>(page.getOriginalsList(), page.getNextPageToken());
        });
  }

  /** Keeps what a person says about a decision; its own verdict confirms it. */
  public Decision overrideDecision(OverrideDecisionRequest request) {
    return connection.call(DedupServiceGrpc.getOverrideDecisionMethod(), request).getDecision();
  }

  /** Near-threshold decisions that were not reviewed, newest first. */
  public Pages<ReviewItem> reviewQueue(ListReviewQueueRequest request) {
    return new Pages<>(
        request.getPageToken(),
        token -> {
          var page =
              connection.call(
                  DedupServiceGrpc.getListReviewQueueMethod(),
                  request.toBuilder().setPageToken(token).build());
          return new Pages.Page<>(page.getItemsList(), page.getNextPageToken());
        });
  }

  /** Counts of a time range by hour, channel, stage and similarity. */
  public GetStatsResponse getStats(GetStatsRequest request) {
    return connection.call(DedupServiceGrpc.getGetStatsMethod(), request);
  }

  /** Decisions as they are made, without end; go on with the last message's resume token. */
  public Iterator<WatchDecisionsResponse> watchDecisions(WatchDecisionsRequest request) {
    return connection.watch(DedupServiceGrpc.getWatchDecisionsMethod(), request);
  }

  private static Result<Decision> result(IngestDocumentsResponse response) {
    return response.hasError()
        ? new Result.Failed<>(WinnowException.from(response.getError()))
        : new Result.Ok<>(response.getDecision());
  }
}
