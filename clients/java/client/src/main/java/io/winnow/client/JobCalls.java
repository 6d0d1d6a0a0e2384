package io.winnow.client;

import com.google.protobuf.ByteString;
import io.winnow.polling.v1.CancelJobRequest;
import io.winnow.polling.v1.CompleteJobRequest;
import io.winnow.polling.v1.FailJobRequest;
import io.winnow.polling.v1.Job;
import io.winnow.polling.v1.ReleaseJobRequest;
import io.winnow.polling.v1.ReportProgressRequest;
import io.winnow.polling.v1.RescheduleJobRequest;
import io.winnow.polling.v1.TransitionJobRequest;
import java.time.Duration;
import java.util.UUID;

/** What a worker says of a job that it has; each with a request id, so that retries are safe. */
final class JobCalls {
  private static final int MOST_NOTE = 1000;

  private final PollingClient client;

  JobCalls(PollingClient client) {
    this.client = client;
  }

  void progress(Job job, int percent, String note) {
    client.reportProgress(
        ReportProgressRequest.newBuilder()
            .setKind(job.getKind())
            .setId(job.getId())
            .setToken(job.getToken())
            .setPercent(percent)
            .setNote(note)
            .setRequestId(newId())
            .build());
  }

  void complete(Job job, ByteString result) {
    client.completeJob(
        CompleteJobRequest.newBuilder()
            .setKind(job.getKind())
            .setId(job.getId())
            .setToken(job.getToken())
            .setResult(result)
            .setRequestId(newId())
            .build());
  }

  /** As the policy says for a null delay. */
  void reschedule(Job job, Duration delay) {
    var request =
        RescheduleJobRequest.newBuilder()
            .setKind(job.getKind())
            .setId(job.getId())
            .setToken(job.getToken())
            .setRequestId(newId());
    if (delay != null) {
      request.setDelay(toProto(delay));
    }
    client.rescheduleJob(request.build());
  }

  void move(Job job, String state, Duration delay) {
    client.transitionJob(
        TransitionJobRequest.newBuilder()
            .setKind(job.getKind())
            .setId(job.getId())
            .setToken(job.getToken())
            .setToState(state)
            .setDelay(toProto(delay))
            .setRequestId(newId())
            .build());
  }

  void release(Job job) {
    client.releaseJob(
        ReleaseJobRequest.newBuilder()
            .setKind(job.getKind())
            .setId(job.getId())
            .setToken(job.getToken())
            .setRequestId(newId())
            .build());
  }

  void cancel(Job job) {
    client.cancelJob(
        CancelJobRequest.newBuilder()
            .setKind(job.getKind())
            .setId(job.getId())
            .setToken(job.getToken())
            .setRequestId(newId())
            .build());
  }

  /** The policy's backoff alone counts for a null retryAfter. */
  void fail(Job job, boolean fatal, String error, Duration retryAfter) {
    var request =
        FailJobRequest.newBuilder()
            .setKind(job.getKind())
            .setId(job.getId())
            .setToken(job.getToken())
            .setFatal(fatal)
            .setError(error.substring(0, Math.min(error.length(), MOST_NOTE)))
            .setRequestId(newId());
    if (retryAfter != null) {
      request.setRetryAfter(toProto(retryAfter));
    }
    client.failJob(request.build());
  }

  static com.google.protobuf.Duration toProto(Duration duration) {
    return com.google.protobuf.Duration.newBuilder()
        .setSeconds(duration.getSeconds())
        .setNanos(duration.getNano())
        .build();
  }

  private static String newId() {
    return UUID.randomUUID().toString();
  }
}
