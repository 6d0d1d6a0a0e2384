package io.winnow.client;

import io.winnow.polling.v1.BatchRegisterJobsRequest;
import io.winnow.polling.v1.BatchRegisterJobsResponse;
import io.winnow.polling.v1.BuryJobRequest;
import io.winnow.polling.v1.BuryJobResponse;
import io.winnow.polling.v1.CancelJobRequest;
import io.winnow.polling.v1.CancelJobResponse;
import io.winnow.polling.v1.ClaimJobsRequest;
import io.winnow.polling.v1.ClaimJobsResponse;
import io.winnow.polling.v1.CompleteJobRequest;
import io.winnow.polling.v1.CompleteJobResponse;
import io.winnow.polling.v1.FailJobRequest;
import io.winnow.polling.v1.FailJobResponse;
import io.winnow.polling.v1.GetJobRequest;
import io.winnow.polling.v1.GetJobResponse;
import io.winnow.polling.v1.GetPolicyRequest;
import io.winnow.polling.v1.GetPolicyResponse;
import io.winnow.polling.v1.GetStatsRequest;
import io.winnow.polling.v1.GetStatsResponse;
import io.winnow.polling.v1.HeartbeatJobsRequest;
import io.winnow.polling.v1.HeartbeatJobsResponse;
import io.winnow.polling.v1.ImportJobsRequest;
import io.winnow.polling.v1.ImportJobsResponse;
import io.winnow.polling.v1.Job;
import io.winnow.polling.v1.JobEvent;
import io.winnow.polling.v1.KickJobsRequest;
import io.winnow.polling.v1.KickJobsResponse;
import io.winnow.polling.v1.ListJobEventsRequest;
import io.winnow.polling.v1.ListJobEventsResponse;
import io.winnow.polling.v1.ListJobsRequest;
import io.winnow.polling.v1.ListJobsResponse;
import io.winnow.polling.v1.PauseKindRequest;
import io.winnow.polling.v1.PauseKindResponse;
import io.winnow.polling.v1.PollingRegistryServiceGrpc;
import io.winnow.polling.v1.PreviewPolicyRequest;
import io.winnow.polling.v1.PreviewPolicyResponse;
import io.winnow.polling.v1.PurgeJobsRequest;
import io.winnow.polling.v1.PurgeJobsResponse;
import io.winnow.polling.v1.RegisterJobRequest;
import io.winnow.polling.v1.RegisterJobResponse;
import io.winnow.polling.v1.ReleaseJobRequest;
import io.winnow.polling.v1.ReleaseJobResponse;
import io.winnow.polling.v1.ReportProgressRequest;
import io.winnow.polling.v1.ReportProgressResponse;
import io.winnow.polling.v1.RequeueJobRequest;
import io.winnow.polling.v1.RequeueJobResponse;
import io.winnow.polling.v1.RescheduleJobRequest;
import io.winnow.polling.v1.RescheduleJobResponse;
import io.winnow.polling.v1.ResumeKindRequest;
import io.winnow.polling.v1.ResumeKindResponse;
import io.winnow.polling.v1.TransitionJobRequest;
import io.winnow.polling.v1.TransitionJobResponse;
import io.winnow.polling.v1.UpdatePolicyRequest;
import io.winnow.polling.v1.UpdatePolicyResponse;
import io.winnow.polling.v1.WatchJobsRequest;
import io.winnow.polling.v1.WatchJobsResponse;
import java.util.Iterator;
import java.util.UUID;

/**
 * Typed calls of winnow.polling.v1.PollingRegistryService: every job in flight is in exactly one
 * state. {@link JobWorker} is built on it.
 */
public final class PollingClient {
  private final Connection connection;

  PollingClient(Connection connection) {
    this.connection = connection;
  }

  /** Registers up to 1,000 jobs of a kind, 32 MiB of payload in all; each may fail alone. */
  public BatchRegisterJobsResponse batchRegisterJobs(BatchRegisterJobsRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getBatchRegisterJobsMethod(), request);
  }

  /**
   * Takes over up to 1,000 jobs that another registry has in flight, with their state and age;
   * each may fail alone. Jobs that are here already are left as they are, so that it may be
   * repeated.
   */
  public ImportJobsResponse importJobs(ImportJobsRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getImportJobsMethod(), request);
  }

  /** Takes a job in flight out of it; its worker, if any, is refused from then on. */
  public BuryJobResponse buryJob(BuryJobRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getBuryJobMethod(), request);
  }

  /** Cancels a job. */
  public CancelJobResponse cancelJob(CancelJobRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getCancelJobMethod(), request);
  }

  /**
   * Gives due jobs to a worker, those that wait longest first, under a lease and with a
   * fencing token each; among them jobs whose worker let the lease end. An answer that is
   * lost costs its jobs one lease. Never tried again by itself.
   */
  public ClaimJobsResponse claimJobs(ClaimJobsRequest request) {
    return connection.callOnce(PollingRegistryServiceGrpc.getClaimJobsMethod(), request);
  }

  /** Ends the job as done. */
  public CompleteJobResponse completeJob(CompleteJobRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getCompleteJobMethod(), request);
  }

  /** Reports a failure. */
  public FailJobResponse failJob(FailJobRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getFailJobMethod(), request);
  }

  /** Reads a job. */
  public GetJobResponse getJob(GetJobRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getGetJobMethod(), request);
  }

  /** Reads the rules of a kind. */
  public GetPolicyResponse getPolicy(GetPolicyRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getGetPolicyMethod(), request);
  }

  /** Counts jobs by state and phase. */
  public GetStatsResponse getStats(GetStatsRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getGetStatsMethod(), request);
  }

  /** Extends leases, and returns which are lost and which jobs are to be stopped. */
  public HeartbeatJobsResponse heartbeatJobs(HeartbeatJobsRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getHeartbeatJobsMethod(), request);
  }

  /** Brings buried jobs back, those first that were buried first. */
  public KickJobsResponse kickJobs(KickJobsRequest request) {
    KickJobsRequest named =
        request.getRequestId().isEmpty()
            ? request.toBuilder().setRequestId(UUID.randomUUID().toString()).build()
            : request;
    return connection.call(PollingRegistryServiceGrpc.getKickJobsMethod(), named);
  }

  /** Lists a job's history, oldest first. */
  public ListJobEventsResponse listJobEvents(ListJobEventsRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getListJobEventsMethod(), request);
  }

  /** Lists jobs of a kind by id. */
  public ListJobsResponse listJobs(ListJobsRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getListJobsMethod(), request);
  }

  /** Stops claims of a kind, and its no-progress and deadline clocks. */
  public PauseKindResponse pauseKind(PauseKindRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getPauseKindMethod(), request);
  }

  /** Returns what a sweep under other rules would take now; changes nothing. */
  public PreviewPolicyResponse previewPolicy(PreviewPolicyRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getPreviewPolicyMethod(), request);
  }

  /** Deletes ended jobs and their history, those first that ended first. */
  public PurgeJobsResponse purgeJobs(PurgeJobsRequest request) {
    PurgeJobsRequest named =
        request.getRequestId().isEmpty()
            ? request.toBuilder().setRequestId(UUID.randomUUID().toString()).build()
            : request;
    return connection.call(PollingRegistryServiceGrpc.getPurgeJobsMethod(), named);
  }

  /** Registers a job. */
  public RegisterJobResponse registerJob(RegisterJobRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getRegisterJobMethod(), request);
  }

  /** Gives the job back as it is, due at once. */
  public ReleaseJobResponse releaseJob(ReleaseJobRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getReleaseJobMethod(), request);
  }

  /** Reports progress of a job, and extends its lease. */
  public ReportProgressResponse reportProgress(ReportProgressRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getReportProgressMethod(), request);
  }

  /** Brings a buried, failed, cancelled or waiting job back. */
  public RequeueJobResponse requeueJob(RequeueJobRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getRequeueJobMethod(), request);
  }

  /** Gives the job back, to be polled again later. */
  public RescheduleJobResponse rescheduleJob(RescheduleJobRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getRescheduleJobMethod(), request);
  }

  /** Goes on where PauseKind stopped. */
  public ResumeKindResponse resumeKind(ResumeKindRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getResumeKindMethod(), request);
  }

  /** Moves the job into another state. */
  public TransitionJobResponse transitionJob(TransitionJobRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getTransitionJobMethod(), request);
  }

  /**
   * Changes the rules of a kind, in force with the next statement that is run; or makes a
   * kind, of which there are at most 100.
   */
  public UpdatePolicyResponse updatePolicy(UpdatePolicyRequest request) {
    return connection.call(PollingRegistryServiceGrpc.getUpdatePolicyMethod(), request);
  }

  /**
   * Streams what happens to jobs, in one order, from now or from a resume_token on. Ends with the
   * exception of its status; resume with the last token.
   */
  public Iterator<WatchJobsResponse> watchJobs(WatchJobsRequest request) {
    return connection.watch(PollingRegistryServiceGrpc.getWatchJobsMethod(), request);
  }

  /** The jobs of a kind by id, from the first (or the request's page token) to the last. */
  public Pages<Job> jobs(ListJobsRequest request) {
    return new Pages<>(
        request.getPageToken(),
        token -> {
          var page = listJobs(request.toBuilder().setPageToken(token).build());
          return new Pages.Page<>(page.getJobsList(), page.getNextPageToken());
        });
  }

  /** A job's history, oldest first. */
  public Pages<JobEvent> jobEvents(ListJobEventsRequest request) {
    return new Pages<>(
        request.getPageToken(),
        token -> {
          var page = listJobEvents(request.toBuilder().setPageToken(token).build());
          return new Pages.Page<>(page.getEventsList(), page.getNextPageToken());
        });
  }
}
