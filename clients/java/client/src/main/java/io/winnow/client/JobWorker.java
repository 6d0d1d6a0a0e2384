package io.winnow.client;

import com.google.protobuf.ByteString;
import io.grpc.Status.Code;
import io.winnow.polling.v1.ClaimJobsRequest;
import io.winnow.polling.v1.HeartbeatJobsRequest;
import io.winnow.polling.v1.HeartbeatResult;
import io.winnow.polling.v1.HeldJob;
import io.winnow.polling.v1.Job;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * A worker of PollingRegistryService: claims jobs, keeps their leases, reports their outcomes.
 *
 * <p>{@link #run()} works until {@link #stop()} is called, from another thread or a shutdown hook.
 * One heartbeat keeps all leases, on a thread of its own. The handler of a job that was lost is
 * notified by {@link Lease#shouldStop()}, and its result is dropped. While the server is away the
 * worker waits, longer each time, and goes on by itself.
 */
public final class JobWorker {
  private static final int MAX_ERROR = 1_000; // characters
  private static final System.Logger LOG = System.getLogger(JobWorker.class.getName());

  /** What became of one look at a job. */
  public sealed interface Outcome permits Complete, Reschedule, MoveTo, Release {}

  /** The job is done. */
  public record Complete(ByteString result) implements Outcome {}

  /** Its provider is not done: poll again after the delay, or as the policy says for null. */
  public record Reschedule(Duration delay) implements Outcome {}

  /** Into another state, due again after the delay. */
  public record MoveTo(String state, Duration delay) implements Outcome {}

  /** Given back as it is: what a handler answers that was asked to stop. */
  public record Release() implements Outcome {}

  /** Thrown by a handler: the job can never be done. */
  public static final class FatalException extends Exception {
    private static final long serialVersionUID = 1L;

    public FatalException(String message) {
      super(message);
    }
  }

  /** Thrown by a handler: to be tried again, not before the time that the provider asked for. */
  public static final class TransientException extends Exception {
    private static final long serialVersionUID = 1L;
    private final Duration retryAfter;

    /** For a null retryAfter the policy's backoff alone counts. */
    public TransientException(String message, Duration retryAfter) {
      super(message);
      this.retryAfter = retryAfter;
    }
  }

  /** One look at a job; any exception but FatalException is transient. */
  @FunctionalInterface
  public interface Handler {
    Outcome handle(Lease lease) throws Exception;
  }

  /** A job that this worker has, as its handler sees it. */
  public final class Lease {
    private final Job job;
    private volatile boolean lost;
    private volatile boolean cancelRequested;

    private Lease(Job job) {
      this.job = job;
    }

    public Job job() {
      return job;
    }

    /** Whether to end: the job is lost or cancelled, or the worker stops. */
    public boolean shouldStop() {
      return lost || cancelRequested || stopping.getCount() == 0;
    }

    /** Reports progress: restarts the job's no-progress clock. */
    public void progress(int percent, String note) {
      try {
        calls.progress(job, percent, note);
      } catch (WinnowException error) {
        if (!isLoss(error)) {
          throw error;
        }
        lost = true;
      }
    }
  }

  /** Settings of a worker, with defaults. */
  public static final class Builder {
    private final PollingClient client;
    private final String kind;
    private final String owner;
    private final Handler handler;
    private int concurrency = 8;
    private Duration wait = Duration.ofSeconds(5);
    private Duration heartbeat = Duration.ofSeconds(10);
    private Duration firstBackoff = Duration.ofMillis(500);
    private Duration maxBackoff = Duration.ofSeconds(30);

    private Builder(PollingClient client, String kind, String owner, Handler handler) {
      this.client = Objects.requireNonNull(client);
      this.kind = Objects.requireNonNull(kind);
      this.owner = Objects.requireNonNull(owner);
      this.handler = Objects.requireNonNull(handler);
    }

    /** Jobs at a time, 1 to 100. Default 8. */
    public Builder concurrency(int jobs) {
      if (jobs < 1 || jobs > 100) {
        throw new IllegalArgumentException("concurrency must be 1 to 100");
      }
      this.concurrency = jobs;
      return this;
    }

    /** How long a claim waits for a job, and a stop for a claim. Default 5 s. */
    public Builder wait(Duration duration) {
      this.wait = duration;
      return this;
    }

    /** Between heartbeats; a third of the kind's lease. Default 10 s. */
    public Builder heartbeat(Duration duration) {
      this.heartbeat = duration;
      return this;
    }

    /** The first and the longest wait while the server is away. Default 0.5 s and 30 s. */
    public Builder backoff(Duration first, Duration longest) {
      this.firstBackoff = first;
      this.maxBackoff = longest;
      return this;
    }

    public JobWorker build() {
      return new JobWorker(this);
    }
  }

  private final PollingClient client;
  private final JobCalls calls;
  private final Builder settings;
  private final CountDownLatch stopping = new CountDownLatch(1);
  private final CountDownLatch done = new CountDownLatch(1);
  private final Semaphore room;
  private final ConcurrentHashMap<Long, Lease> held = new ConcurrentHashMap<>(); // by token

  private JobWorker(Builder settings) {
    this.client = settings.client;
    this.calls = new JobCalls(settings.client);
    this.settings = settings;
    this.room = new Semaphore(settings.concurrency);
  }

  /** A worker to be configured; the owner is its name, for people. */
  public static Builder builder(PollingClient client, String kind, String owner, Handler handler) {
    return new Builder(client, kind, owner, handler);
  }

  /** Claims no more, asks the handlers to end, and lets run() return when they have. */
  public void stop() {
    stopping.countDown();
  }

  /** Works until stop(). Jobs in hand are finished or given back. */
  public void run() throws InterruptedException {
    Thread beats = new Thread(this::beat, "winnow-heartbeat");
    beats.setDaemon(true);
    beats.start();
    ExecutorService pool = Executors.newFixedThreadPool(settings.concurrency);
    try {
      claimUntilStopped(pool);
    } finally {
      pool.shutdown();
      room.acquireUninterruptibly(settings.concurrency); // all handlers have ended
      done.countDown();
      beats.join();
    }
  }

  private boolean isStopping() {
    return stopping.getCount() == 0;
  }

  private void claimUntilStopped(ExecutorService pool) throws InterruptedException {
    int failures = 0;
    while (!isStopping()) {
      if (!room.tryAcquire(100, TimeUnit.MILLISECONDS)) {
        continue;
      }
      int free = 1 + room.drainPermits();
      List<Job> jobs = List.of();
      try {
        jobs = claim(free);
        failures = 0;
      } catch (WinnowException error) {
        failures++;
        LOG.log(System.Logger.Level.WARNING, "no jobs can be claimed now: {0}", error.toString());
      } finally {
        room.release(free - jobs.size());
      }
      for (Job job : jobs) {
        Lease lease = new Lease(job);
        held.put(job.getToken(), lease);
        pool.execute(() -> work(lease));
      }
      if (failures > 0 && stopping.await(backoff(failures).toMillis(), TimeUnit.MILLISECONDS)) {
        return;
      }
    }
  }

  private List<Job> claim(int free) {
    return client
        .claimJobs(
            ClaimJobsRequest.newBuilder()
                .setKind(settings.kind)
                .setOwner(settings.owner)
                .setMaxJobs(free)
                .setWait(JobCalls.toProto(settings.wait))
                .build())
        .getJobsList();
  }

  private Duration backoff(int failures) {
    long most =
        Math.min(
            settings.maxBackoff.toMillis(),
            settings.firstBackoff.toMillis() << Math.min(failures - 1, 16));
    return Duration.ofMillis(most / 2 + ThreadLocalRandom.current().nextLong(most / 2 + 1));
  }

  private void work(Lease lease) {
    try {
      handleAndTell(lease);
    } catch (WinnowException error) {
      drop(lease, error);
    } finally {
      held.remove(lease.job.getToken());
      room.release();
    }
  }

  private void handleAndTell(Lease lease) {
    Outcome outcome;
    try {
      outcome = isStopping() ? new Release() : settings.handler.handle(lease);
    } catch (Exception error) {
      fail(lease, error);
      return;
    }
    try {
      finish(lease, outcome);
    } catch (WinnowException refused) {
      if (isLoss(refused) || !isRefusal(refused)) {
        throw refused;
      }
      // It would be refused the next time, too: a result over the limit, a transition that the
      // kind's policy does not have.
      fail(lease, new FatalException("what the handler answered was refused: " + refused));
    }
  }

  private static void drop(Lease lease, WinnowException error) {
    LOG.log(
        System.Logger.Level.WARNING,
        "job {0} is dropped, or left to its lease: {1}",
        lease.job.getId(),
        error);
  }

  private void finish(Lease lease, Outcome outcome) {
    Job job = lease.job;
    if (lease.lost) {
      return;
    }
    if (lease.cancelRequested) {
      calls.cancel(job);
    } else if (outcome instanceof Complete complete) {
      calls.complete(job, complete.result());
    } else if (outcome instanceof Reschedule reschedule) {
      calls.reschedule(job, reschedule.delay());
    } else if (outcome instanceof MoveTo move) {
      calls.move(job, move.state(), move.delay());
    } else {
      calls.release(job);
    }
  }

  private void fail(Lease lease, Exception error) {
    if (lease.lost) {
      return;
    }
    if (lease.cancelRequested) {
      calls.cancel(lease.job);
      return;
    }
    Duration retryAfter = error instanceof TransientException known ? known.retryAfter : null;
    calls.fail(lease.job, error instanceof FatalException, textOf(error), retryAfter);
  }

  /** What is said of an error: never nothing, and no more than the registry takes. */
  private static String textOf(Exception error) {
    String text = error.getMessage();
    if (text == null || text.isEmpty()) {
      return error.getClass().getName();
    }
    boolean fits = text.codePointCount(0, text.length()) <= MAX_ERROR;
    return fits ? text : text.substring(0, text.offsetByCodePoints(0, MAX_ERROR));
  }

  private void beat() {
    try {
      while (!done.await(settings.heartbeat.toMillis(), TimeUnit.MILLISECONDS)) {
        List<Lease> leases = List.copyOf(held.values());
        if (!leases.isEmpty()) {
          beatOnce(leases);
        }
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void beatOnce(List<Lease> leases) {
    var request = HeartbeatJobsRequest.newBuilder().setKind(settings.kind);
    for (Lease lease : leases) {
      request.addJobs(
          HeldJob.newBuilder().setId(lease.job.getId()).setToken(lease.job.getToken()));
    }
    try {
      List<HeartbeatResult> results = client.heartbeatJobs(request.build()).getResultsList();
      for (int i = 0; i < results.size(); i++) {
        leases.get(i).lost |= results.get(i).getLost();
        leases.get(i).cancelRequested |= results.get(i).getCancelRequested();
      }
    } catch (WinnowException error) {
      // While the server is unavailable, no other worker gets the jobs either.
      LOG.log(System.Logger.Level.WARNING, "no heartbeat now: {0}", error.toString());
    }
  }

  /** Whether this worker has lost the job. */
  private static boolean isLoss(WinnowException error) {
    return error.code() == Code.NOT_FOUND || error.reason().equals("STALE_TOKEN");
  }

  private static boolean isRefusal(WinnowException error) {
    return error.code() == Code.FAILED_PRECONDITION || error.code() == Code.INVALID_ARGUMENT;
  }
}
