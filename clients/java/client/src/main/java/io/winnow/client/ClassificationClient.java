package io.winnow.client;

import io.winnow.classification.v1.ActivateRunRequest;
import io.winnow.classification.v1.ActivateRunResponse;
import io.winnow.classification.v1.Appeal;
import io.winnow.classification.v1.BatchGetClassificationsRequest;
import io.winnow.classification.v1.BatchGetClassificationsResponse;
import io.winnow.classification.v1.BulkOverrideClassificationsRequest;
import io.winnow.classification.v1.BulkOverrideClassificationsResponse;
import io.winnow.classification.v1.CancelRunRequest;
import io.winnow.classification.v1.CancelRunResponse;
import io.winnow.classification.v1.Classification;
import io.winnow.classification.v1.ClassificationServiceGrpc;
import io.winnow.classification.v1.ClassifyTextsRequest;
import io.winnow.classification.v1.ClassifyTextsResponse;
import io.winnow.classification.v1.CompareRunsRequest;
import io.winnow.classification.v1.CompareRunsResponse;
import io.winnow.classification.v1.CountClassificationsRequest;
import io.winnow.classification.v1.CountClassificationsResponse;
import io.winnow.classification.v1.CreateAppealRequest;
import io.winnow.classification.v1.CreateAppealResponse;
import io.winnow.classification.v1.DeleteVideoRequest;
import io.winnow.classification.v1.DeleteVideoResponse;
import io.winnow.classification.v1.ExportClassificationsRequest;
import io.winnow.classification.v1.GetAppealRequest;
import io.winnow.classification.v1.GetAppealResponse;
import io.winnow.classification.v1.GetClassificationRequest;
import io.winnow.classification.v1.GetClassificationResponse;
import io.winnow.classification.v1.GetPolicyRequest;
import io.winnow.classification.v1.GetPolicyResponse;
import io.winnow.classification.v1.GetRunRequest;
import io.winnow.classification.v1.GetRunResponse;
import io.winnow.classification.v1.ImportCommentsRequest;
import io.winnow.classification.v1.ImportCommentsResponse;
import io.winnow.classification.v1.IngestVerdictsRequest;
import io.winnow.classification.v1.IngestVerdictsResponse;
import io.winnow.classification.v1.IngestedVerdicts;
import io.winnow.classification.v1.ListAppealsRequest;
import io.winnow.classification.v1.ListAppealsResponse;
import io.winnow.classification.v1.ListAuditEntriesRequest;
import io.winnow.classification.v1.ListAuditEntriesResponse;
import io.winnow.classification.v1.ListClassificationsRequest;
import io.winnow.classification.v1.ListClassificationsResponse;
import io.winnow.classification.v1.ListOverrideConflictsRequest;
import io.winnow.classification.v1.ListOverrideConflictsResponse;
import io.winnow.classification.v1.ListRunsRequest;
import io.winnow.classification.v1.ListRunsResponse;
import io.winnow.classification.v1.OverrideClassificationRequest;
import io.winnow.classification.v1.OverrideClassificationResponse;
import io.winnow.classification.v1.PreviewPolicyRequest;
import io.winnow.classification.v1.PreviewPolicyResponse;
import io.winnow.classification.v1.ResolveAppealRequest;
import io.winnow.classification.v1.ResolveAppealResponse;
import io.winnow.classification.v1.ResumeRunRequest;
import io.winnow.classification.v1.ResumeRunResponse;
import io.winnow.classification.v1.RollbackRunRequest;
import io.winnow.classification.v1.RollbackRunResponse;
import io.winnow.classification.v1.StartRunRequest;
import io.winnow.classification.v1.StartRunResponse;
import io.winnow.classification.v1.UndoOverrideRequest;
import io.winnow.classification.v1.UndoOverrideResponse;
import io.winnow.classification.v1.UpdatePolicyRequest;
import io.winnow.classification.v1.UpdatePolicyResponse;
import io.winnow.classification.v1.WatchClassificationsRequest;
import io.winnow.classification.v1.WatchClassificationsResponse;
import io.winnow.classification.v1.WatchRunRequest;
import io.winnow.classification.v1.WatchRunResponse;
import java.util.Iterator;
import java.util.UUID;
import java.util.function.BiConsumer;
import java.util.function.Function;

/** ClassificationService: every comment gets exactly one verdict. */
public final class ClassificationClient {
  private final Connection connection;

  ClassificationClient(Connection connection) {
    this.connection = connection;
  }

  /** Makes a complete run the active one, in one transaction; readers see one run or the other. */
  public ActivateRunResponse activateRun(ActivateRunRequest request) {
    return connection.call(ClassificationServiceGrpc.getActivateRunMethod(), request);
  }

  /** Reads up to 1,000 verdicts; each may fail alone. */
  public BatchGetClassificationsResponse batchGetClassifications(
      BatchGetClassificationsRequest request) {
    return connection.call(ClassificationServiceGrpc.getBatchGetClassificationsMethod(), request);
  }

  /** Overrides up to 1,000 comments together, all or none. Gets a request id where it has none. */
  public BulkOverrideClassificationsResponse bulkOverrideClassifications(
      BulkOverrideClassificationsRequest request) {
    var named =
        request.getRequestId().isEmpty()
            ? request.toBuilder().setRequestId(newId()).build()
            : request;
    return connection.call(
        ClassificationServiceGrpc.getBulkOverrideClassificationsMethod(), named);
  }

  /** Ends a run that is not complete. */
  public CancelRunResponse cancelRun(CancelRunRequest request) {
    return connection.call(ClassificationServiceGrpc.getCancelRunMethod(), request);
  }

  /** Classifies up to 1,000 texts and keeps nothing. */
  public ClassifyTextsResponse classifyTexts(ClassifyTextsRequest request) {
    return connection.call(ClassificationServiceGrpc.getClassifyTextsMethod(), request);
  }

  /** Confusion matrix of two runs of a video, and which comments differ. */
  public CompareRunsResponse compareRuns(CompareRunsRequest request) {
    return connection.call(ClassificationServiceGrpc.getCompareRunsMethod(), request);
  }

  /** Counts a video's comments by status, exactly. */
  public CountClassificationsResponse countClassifications(CountClassificationsRequest request) {
    return connection.call(ClassificationServiceGrpc.getCountClassificationsMethod(), request);
  }

  /** Asks people to look at a verdict. */
  public CreateAppealResponse createAppeal(CreateAppealRequest request) {
    return connection.call(ClassificationServiceGrpc.getCreateAppealMethod(), request);
  }

  /**
   * Deletes everything of a video: raw bytes, comments, runs, counts, overrides, audit texts.
   * Never tried again by itself.
   */
  public DeleteVideoResponse deleteVideo(DeleteVideoRequest request) {
    return connection.callOnce(ClassificationServiceGrpc.getDeleteVideoMethod(), request);
  }

  /** Reads an appeal. */
  public GetAppealResponse getAppeal(GetAppealRequest request) {
    return connection.call(ClassificationServiceGrpc.getGetAppealMethod(), request);
  }

  /** Reads the verdict of one comment, by id or by the alias of a reply. */
  public GetClassificationResponse getClassification(GetClassificationRequest request) {
    return connection.call(ClassificationServiceGrpc.getGetClassificationMethod(), request);
  }

  /** Reads a version of a policy. */
  public GetPolicyResponse getPolicy(GetPolicyRequest request) {
    return connection.call(ClassificationServiceGrpc.getGetPolicyMethod(), request);
  }

  /** Reads a run. */
  public GetRunResponse getRun(GetRunRequest request) {
    return connection.call(ClassificationServiceGrpc.getGetRunMethod(), request);
  }

  /** Reads a video's raw comments of any known shape. */
  public ImportCommentsResponse importComments(ImportCommentsRequest request) {
    return connection.call(ClassificationServiceGrpc.getImportCommentsMethod(), request);
  }

  /** Lists appeals, newest first: of a namespace or a video, all or those in a state. */
  public ListAppealsResponse listAppeals(ListAppealsRequest request) {
    return connection.call(ClassificationServiceGrpc.getListAppealsMethod(), request);
  }

  /** Lists who changed what, newest first. */
  public ListAuditEntriesResponse listAuditEntries(ListAuditEntriesRequest request) {
    return connection.call(ClassificationServiceGrpc.getListAuditEntriesMethod(), request);
  }

  /** Lists the comments of a status. */
  public ListClassificationsResponse listClassifications(ListClassificationsRequest request) {
    return connection.call(ClassificationServiceGrpc.getListClassificationsMethod(), request);
  }

  /** Lists the overrides that the active run disagrees with. */
  public ListOverrideConflictsResponse listOverrideConflicts(ListOverrideConflictsRequest request) {
    return connection.call(ClassificationServiceGrpc.getListOverrideConflictsMethod(), request);
  }

  /** Lists the runs of a video, newest first. */
  public ListRunsResponse listRuns(ListRunsRequest request) {
    return connection.call(ClassificationServiceGrpc.getListRunsMethod(), request);
  }

  /** Sets what a person says a comment is; it stands above all runs, later ones too. */
  public OverrideClassificationResponse overrideClassification(
      OverrideClassificationRequest request) {
    return connection.call(ClassificationServiceGrpc.getOverrideClassificationMethod(), request);
  }

  /** Returns how a policy would decide the newest comments of a video; changes nothing. */
  public PreviewPolicyResponse previewPolicy(PreviewPolicyRequest request) {
    return connection.call(ClassificationServiceGrpc.getPreviewPolicyMethod(), request);
  }

  /**
   * Answers an appeal; granting it overrides the comment. Gets a request id where it has none.
   */
  public ResolveAppealResponse resolveAppeal(ResolveAppealRequest request) {
    var named =
        request.getRequestId().isEmpty()
            ? request.toBuilder().setRequestId(newId()).build()
            : request;
    return connection.call(ClassificationServiceGrpc.getResolveAppealMethod(), named);
  }

  /** Goes on with a paused run. */
  public ResumeRunResponse resumeRun(ResumeRunRequest request) {
    return connection.call(ClassificationServiceGrpc.getResumeRunMethod(), request);
  }

  /** Leaves the active run for the one before. Gets a request id where it has none. */
  public RollbackRunResponse rollbackRun(RollbackRunRequest request) {
    var named =
        request.getRequestId().isEmpty()
            ? request.toBuilder().setRequestId(newId()).build()
            : request;
    return connection.call(ClassificationServiceGrpc.getRollbackRunMethod(), named);
  }

  /** Begins to classify a video. Gets a request id where it has none. */
  public StartRunResponse startRun(StartRunRequest request) {
    var named =
        request.getRequestId().isEmpty()
            ? request.toBuilder().setRequestId(newId()).build()
            : request;
    return connection.call(ClassificationServiceGrpc.getStartRunMethod(), named);
  }

  /** Takes overrides back: one comment's, or all of one bulk. */
  public UndoOverrideResponse undoOverride(UndoOverrideRequest request) {
    return connection.call(ClassificationServiceGrpc.getUndoOverrideMethod(), request);
  }

  /** Makes the next version of a policy. Gets a request id where it has none. */
  public UpdatePolicyResponse updatePolicy(UpdatePolicyRequest request) {
    var named =
        request.getRequestId().isEmpty()
            ? request.toBuilder().setRequestId(newId()).build()
            : request;
    return connection.call(ClassificationServiceGrpc.getUpdatePolicyMethod(), named);
  }

  /**
   * Delivers an agent's verdicts, message by message; {@code answered} receives the outcome of
   * each, in order: an answer means durable. Goes on over a lost connection.
   */
  public void ingestVerdicts(
      Iterator<IngestVerdictsRequest> messages,
      BiConsumer<IngestVerdictsRequest, Result<IngestedVerdicts>> answered) {
    Ingest.run(
        connection,
        ClassificationServiceGrpc.getIngestVerdictsMethod(),
        messages,
        Function.identity(),
        (message, response) -> answered.accept(message, result(response)));
  }

  /** A run at each change of it; the last is it as it ended or paused. */
  public Iterator<WatchRunResponse> watchRun(WatchRunRequest request) {
    return connection.watch(ClassificationServiceGrpc.getWatchRunMethod(), request);
  }

  /**
   * What changes the verdicts that readers see. The first answer has a token and maybe no event.
   * After an exception go on with the last answer's token.
   */
  public Iterator<WatchClassificationsResponse> watchClassifications(
      WatchClassificationsRequest request) {
    return connection.watch(ClassificationServiceGrpc.getWatchClassificationsMethod(), request);
  }

  /** A video's verdicts as lines of JSON, all of one run, to the last comment. */
  public Iterator<String> exportClassifications(ExportClassificationsRequest request) {
    return new ExportedLines(connection, request);
  }

  /** The comments of a status, from the first (or the request's page token) to the last. */
  public Pages<Classification> classifications(ListClassificationsRequest request) {
    return new Pages<>(
        request.getPageToken(),
        token -> {
          var page = listClassifications(request.toBuilder().setPageToken(token).build());
          return new Pages.Page<>(page.getClassificationsList(), page.getNextPageToken());
        });
  }

  /** Appeals, newest first, from the first (or the request's page token) to the last. */
  public Pages<Appeal> appeals(ListAppealsRequest request) {
    return new Pages<>(
        request.getPageToken(),
        token -> {
          var page = listAppeals(request.toBuilder().setPageToken(token).build());
          return new Pages.Page<>(page.getAppealsList(), page.getNextPageToken());
        });
  }

  private static Result<IngestedVerdicts> result(IngestVerdictsResponse response) {
    return response.hasError()
        ? new Result.Failed<>(WinnowException.from(response.getError()))
        : new Result.Ok<>(response.getIngested());
  }

  private static String newId() {
    return UUID.randomUUID().toString();
  }
}
