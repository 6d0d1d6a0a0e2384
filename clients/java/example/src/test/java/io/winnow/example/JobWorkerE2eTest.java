package io.winnow.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.winnow.client.JobWorker;
import io.winnow.client.PollingClient;
import io.winnow.client.Winnow;
import io.winnow.polling.v1.CancelJobRequest;
import io.winnow.polling.v1.GetJobRequest;
import io.winnow.polling.v1.Job;
import io.winnow.polling.v1.JobChange;
import io.winnow.polling.v1.JobEvent;
import io.winnow.polling.v1.JobPhase;
import io.winnow.polling.v1.ListJobEventsRequest;
import io.winnow.polling.v1.NewJob;
import io.winnow.polling.v1.Policy;
import io.winnow.polling.v1.RegisterJobRequest;
import io.winnow.polling.v1.StateTransition;
import io.winnow.polling.v1.UpdatePolicyRequest;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The worker against the built registry: claims, keeps, moves, gives back and goes on. */
@Tag("e2e")
class JobWorkerE2eTest {
  private static final String KIND = "java";
  private static final long LIMIT_MILLIS = 180_000;
  private static final Set<String> LOOKED_AT = ConcurrentHashMap.newKeySet();

  private static WinnowProcess server;
  private static Winnow winnow;

  @BeforeAll
  static void start() throws Exception {
    server = new WinnowProcess();
    winnow = Winnow.builder(server.address()).timeout(Duration.ofSeconds(30)).build();
    var policy =
        Policy.newBuilder()
            .addStates("processing")
            .addStates("summarizing")
            .addTransitions(
                StateTransition.newBuilder().setFrom("processing").setTo("summarizing"))
            .setLease(proto(Duration.ofSeconds(30)))
            .setPollInterval(proto(Duration.ofMillis(20)))
            .setBackoffBase(proto(Duration.ofMillis(20)));
    polling()
        .updatePolicy(UpdatePolicyRequest.newBuilder().setKind(KIND).setPolicy(policy).build());
  }

  @AfterAll
  static void stop() throws Exception {
    if (winnow != null) {
      winnow.close();
    }
    if (server != null) {
      server.close();
    }
  }

  private static com.google.protobuf.Duration proto(Duration duration) {
    return com.google.protobuf.Duration.newBuilder()
        .setSeconds(duration.getSeconds())
        .setNanos(duration.getNano())
        .build();
  }

  private static PollingClient polling() {
    return winnow.polling();
  }

  private static void register(String id) {
    polling()
        .registerJob(
            RegisterJobRequest.newBuilder()
                .setKind(KIND)
                .setJob(NewJob.newBuilder().setId(id))
                .build());
  }

  private static Job job(String id) {
    return polling()
        .getJob(GetJobRequest.newBuilder().setKind(KIND).setId(id).build())
        .getJob();
  }

  private static Instant leaseEnd(String id) {
    var time = job(id).getReadyTime();
    return Instant.ofEpochSecond(time.getSeconds(), time.getNanos());
  }

  private static void awaitPhase(String id, JobPhase phase) throws InterruptedException {
    Await.until(id + " is " + phase, () -> job(id).getPhase() == phase);
  }

  private static List<JobChange> changes(String id) {
    var request = ListJobEventsRequest.newBuilder().setKind(KIND).setId(id).build();
    return polling().jobEvents(request).stream().map(JobEvent::getChange).toList();
  }

  /** A worker in a thread of its own, stopped when it is closed. */
  private static final class Running implements AutoCloseable {
    private final JobWorker worker;
    private final Thread thread;

    Running(JobWorker.Handler handler) {
      worker =
          JobWorker.builder(polling(), KIND, "java-worker", handler)
              .concurrency(4)
              .wait(Duration.ofMillis(200))
              .heartbeat(Duration.ofMillis(50))
              .build();
      thread = new Thread(this::run);
      thread.start();
    }

    private void run() {
      try {
        worker.run();
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
      }
    }

    @Override
    public void close() throws InterruptedException {
      worker.stop();
      thread.join(LIMIT_MILLIS);
      assertTrue(!thread.isAlive(), "the worker ends when it is stopped");
    }
  }

  /** Not done at the first look, then moved on, then complete. */
  private static JobWorker.Outcome transcribe(JobWorker.Lease lease) throws Exception {
    Job job = lease.job();
    if (job.getId().startsWith("unknown")) {
      throw new JobWorker.FatalException("the provider does not know it");
    }
    if (job.getState().equals("summarizing")) {
      return new JobWorker.Complete(ByteString.copyFromUtf8("text of " + job.getId()));
    }
    return LOOKED_AT.add(job.getId())
        ? new JobWorker.Reschedule(null)
        : new JobWorker.MoveTo("summarizing", Duration.ZERO);
  }

  @Test
  void everyJobIsTakenToItsEnd() throws Exception {
    for (int number = 0; number < 20; ++number) {
      register("end-" + number);
    }
    register("unknown");
    try (var worker = new Running(JobWorkerE2eTest::transcribe)) {
      for (int number = 0; number < 20; ++number) {
        String id = "end-" + number;
        awaitPhase(id, JobPhase.JOB_PHASE_COMPLETED);
        assertEquals("text of " + id, job(id).getResult().toStringUtf8());
        assertEquals(0, job(id).getLosses());
      }
      awaitPhase("unknown", JobPhase.JOB_PHASE_FAILED);
      assertTrue(job("unknown").getNote().contains("does not know"), job("unknown").getNote());
    }
  }

  @Test
  void heartbeatsKeepTheLeaseOfALongJob() throws Exception {
    var finish = new CountDownLatch(1);
    register("long");
    try (var worker =
        new Running(
            lease -> {
              finish.await();
              return new JobWorker.Complete(ByteString.EMPTY);
            })) {
      awaitPhase("long", JobPhase.JOB_PHASE_LEASED);
      Instant first = leaseEnd("long");
      Await.until("the lease has been put off", () -> leaseEnd("long").isAfter(first));
      finish.countDown();
      awaitPhase("long", JobPhase.JOB_PHASE_COMPLETED);
    }
  }

  @Test
  void aCancelledJobEndsWhenItsHandlerHasSeenIt() throws Exception {
    register("cancelled");
    try (var worker = new Running(JobWorkerE2eTest::untilStopped)) {
      awaitPhase("cancelled", JobPhase.JOB_PHASE_LEASED);
      polling()
          .cancelJob(CancelJobRequest.newBuilder().setKind(KIND).setId("cancelled").build());
      awaitPhase("cancelled", JobPhase.JOB_PHASE_CANCELLED);
    }
    assertTrue(changes("cancelled").contains(JobChange.JOB_CHANGE_CANCEL_REQUESTED));
  }

  @Test
  void aWorkerThatStopsGivesBackWhatItHasAndTheNextGoesOn() throws Exception {
    register("given-back");
    try (var worker = new Running(JobWorkerE2eTest::untilStopped)) {
      awaitPhase("given-back", JobPhase.JOB_PHASE_LEASED);
    }
    assertEquals(JobPhase.JOB_PHASE_WAITING, job("given-back").getPhase());
    assertEquals(0, job("given-back").getLosses());
    try (var next = new Running(lease -> new JobWorker.Complete(ByteString.EMPTY))) {
      awaitPhase("given-back", JobPhase.JOB_PHASE_COMPLETED);
    }
  }

  private static JobWorker.Outcome untilStopped(JobWorker.Lease lease)
      throws InterruptedException {
    Await.until("the handler is asked to stop", lease::shouldStop);
    return new JobWorker.Release();
  }
}
