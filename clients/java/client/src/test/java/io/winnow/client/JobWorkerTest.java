package io.winnow.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.stub.StreamObserver;
import io.winnow.polling.v1.CancelJobRequest;
import io.winnow.polling.v1.CancelJobResponse;
import io.winnow.polling.v1.ClaimJobsRequest;
import io.winnow.polling.v1.ClaimJobsResponse;
import io.winnow.polling.v1.CompleteJobRequest;
import io.winnow.polling.v1.CompleteJobResponse;
import io.winnow.polling.v1.FailJobRequest;
import io.winnow.polling.v1.FailJobResponse;
import io.winnow.polling.v1.HeartbeatJobsRequest;
import io.winnow.polling.v1.HeartbeatJobsResponse;
import io.winnow.polling.v1.HeartbeatResult;
import io.winnow.polling.v1.Job;
import io.winnow.polling.v1.PollingRegistryServiceGrpc.PollingRegistryServiceImplBase;
import io.winnow.polling.v1.ReleaseJobRequest;
import io.winnow.polling.v1.ReleaseJobResponse;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a worker says of its jobs, to a registry that the test plays. */
class JobWorkerTest {
  private final Registry registry = new Registry();
  private FakeServer server;
  private Winnow winnow;

  /** Hands out the offered jobs, and records the calls. */
  private static final class Registry extends PollingRegistryServiceImplBase {
    final BlockingQueue<Job> offered = new LinkedBlockingQueue<>();
    final BlockingQueue<String> reports = new LinkedBlockingQueue<>();
    volatile boolean away;
    volatile boolean lost;
    volatile boolean cancel;

    @Override
    public void claimJobs(ClaimJobsRequest request, StreamObserver<ClaimJobsResponse> answer) {
      if (away) {
        reports.add("away");
        answer.onError(FakeServer.unavailable());
        return;
      }
      var response = ClaimJobsResponse.newBuilder();
      try {
        Job job = offered.poll(20, TimeUnit.MILLISECONDS);
        if (job != null) {
          response.addJobs(job);
        }
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
      }
      end(answer, response.build());
    }

    @Override
    public void heartbeatJobs(
        HeartbeatJobsRequest request, StreamObserver<HeartbeatJobsResponse> answer) {
      var response = HeartbeatJobsResponse.newBuilder();
      request
          .getJobsList()
          .forEach(
              job ->
                  response.addResults(
                      HeartbeatResult.newBuilder()
                          .setId(job.getId())
                          .setLost(lost)
                          .setCancelRequested(cancel)));
      end(answer, response.build());
    }

    @Override
    public void completeJob(
        CompleteJobRequest request, StreamObserver<CompleteJobResponse> answer) {
      reports.add("complete " + request.getId() + " " + request.getResult().toStringUtf8());
      if (request.getToken() != 7) {
        String reason = request.getToken() < 7 ? "STALE_TOKEN" : "STATE_FORBIDS";
        answer.onError(FakeServer.failedPrecondition(reason));
        return;
      }
      end(answer, CompleteJobResponse.getDefaultInstance());
    }

    @Override
    public void failJob(FailJobRequest request, StreamObserver<FailJobResponse> answer) {
      String how = request.getFatal() ? "fatal " : "transient ";
      reports.add(how + request.getError() + " " + request.getRetryAfter().getSeconds());
      end(answer, FailJobResponse.getDefaultInstance());
    }

    @Override
    public void releaseJob(ReleaseJobRequest request, StreamObserver<ReleaseJobResponse> answer) {
      reports.add("release " + request.getId());
      end(answer, ReleaseJobResponse.getDefaultInstance());
    }

    @Override
    public void cancelJob(CancelJobRequest request, StreamObserver<CancelJobResponse> answer) {
      reports.add("cancel " + request.getId());
      end(answer, CancelJobResponse.getDefaultInstance());
    }

    private static <R> void end(StreamObserver<R> answer, R response) {
      answer.onNext(response);
      answer.onCompleted();
    }
  }

  @BeforeEach
  void start() throws Exception {
    server = new FakeServer(registry);
    winnow = Winnow.connect(server.address());
  }

  @AfterEach
  void end() {
    winnow.close();
    server.close();
  }

  private void offer(String id, long token) {
    registry.offered.add(Job.newBuilder().setKind("stt").setId(id).setToken(token).build());
  }

  private String nextReport() throws InterruptedException {
    return registry.reports.poll(30, TimeUnit.SECONDS);
  }

  /** A worker in a thread of its own, ended when it is closed. */
  private final class Running implements AutoCloseable {
    final JobWorker worker;
    private final Thread thread;

    Running(JobWorker.Handler handler) {
      worker =
          JobWorker.builder(winnow.polling(), "stt", "test", handler)
              .wait(Duration.ofMillis(20))
              .heartbeat(Duration.ofMillis(20))
              .backoff(Duration.ofMillis(5), Duration.ofMillis(20))
              .build();
      thread =
          new Thread(
              () -> {
                try {
                  worker.run();
                } catch (InterruptedException interrupted) {
                  Thread.currentThread().interrupt();
                }
              });
      thread.start();
    }

    @Override
    public void close() throws InterruptedException {
      worker.stop();
      thread.join(30_000);
      assertTrue(!thread.isAlive(), "the worker ends");
    }
  }

  @Test
  void tellsHowEachJobEnded() throws Exception {
    JobWorker.Handler handler =
        lease -> {
          switch (lease.job().getId()) {
            case "bad":
              throw new JobWorker.FatalException("no such recording");
            case "later":
              throw new JobWorker.TransientException("503", Duration.ofSeconds(9));
            default:
              return new JobWorker.Complete(ByteString.copyFromUtf8("text"));
          }
        };
    try (Running running = new Running(handler)) {
      offer("good", 7);
      assertEquals("complete good text", nextReport());
      offer("bad", 7);
      assertEquals("fatal no such recording 0", nextReport());
      offer("later", 7);
      assertEquals("transient 503 9", nextReport());
      offer("zombie", 6);
      assertEquals("complete zombie text", nextReport());
      offer("refused", 8);
      assertEquals("complete refused text", nextReport());
      assertTrue(nextReport().startsWith("fatal what the handler answered was refused"));
      offer("next", 7);
      assertEquals("complete next text", nextReport());
    }
  }

  @Test
  void dropsWhatItLostAndConfirmsWhatIsCancelled() throws Exception {
    CountDownLatch lostSeen = new CountDownLatch(1);
    JobWorker.Handler handler =
        lease -> {
          while (!lease.shouldStop()) {
            Thread.onSpinWait();
          }
          lostSeen.countDown();
          return new JobWorker.Complete(ByteString.EMPTY);
        };
    try (Running running = new Running(handler)) {
      registry.lost = true;
      offer("lost", 7);
      assertTrue(lostSeen.await(30, TimeUnit.SECONDS));
      registry.lost = false;
      registry.cancel = true;
      offer("cancelled", 8); // tokens are never used again
      assertEquals("cancel cancelled", nextReport());
    }
  }

  @Test
  void givesBackWhatItHasWhenItStops() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    JobWorker.Handler handler =
        lease -> {
          begun.countDown();
          while (!lease.shouldStop()) {
            Thread.onSpinWait();
          }
          return new JobWorker.Release();
        };
    try (Running running = new Running(handler)) {
      offer("half", 7);
      assertTrue(begun.await(30, TimeUnit.SECONDS));
    }
    assertEquals("release half", nextReport());
  }

  /** What a handler of java.util.logging would print. */
  private static final class Lines extends Handler {
    final BlockingQueue<String> written = new LinkedBlockingQueue<>();

    @Override
    public void publish(LogRecord line) {
      written.add(new SimpleFormatter().formatMessage(line));
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }

  @Test
  void logsWhyNothingCanBeClaimed() throws Exception {
    Logger logger = Logger.getLogger(JobWorker.class.getName());
    Lines lines = new Lines();
    logger.addHandler(lines);
    registry.away = true;
    try (Running running =
        new Running(lease -> new JobWorker.Complete(ByteString.copyFromUtf8("text")))) {
      String line = lines.written.poll(30, TimeUnit.SECONDS);
      assertTrue(line != null && line.contains("the store is away"), line);
    } finally {
      logger.removeHandler(lines);
    }
  }

  @Test
  void waitsWhileTheServerIsAwayAndGoesOn() throws Exception {
    registry.away = true;
    try (Running running =
        new Running(lease -> new JobWorker.Complete(ByteString.copyFromUtf8("text")))) {
      assertEquals("away", nextReport());
      assertEquals("away", nextReport());
      registry.away = false;
      offer("after", 7);
      String report = nextReport();
      while ("away".equals(report)) {
        report = nextReport();
      }
      assertEquals("complete after text", report);
    }
  }
}
