package io.winnow.client;

import io.grpc.Status.Code;
import java.time.Duration;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * When and after how long a failed call is tried again. Only UNAVAILABLE is, and only for calls
 * that are safe to repeat: a full server wants less load, and an invalid request stays invalid.
 *
 * @param attempts tries in all; 1 never tries again
 * @param firstDelay longest wait before the second try; doubles with each
 * @param maxDelay longest wait, unless the server asks for more
 */
public record RetryPolicy(int attempts, Duration firstDelay, Duration maxDelay) {
  /** Five tries, 100 ms doubling to at most 5 s, with full jitter. */
  public static final RetryPolicy DEFAULT =
      new RetryPolicy(5, Duration.ofMillis(100), Duration.ofSeconds(5));

  /** A single try. */
  public static final RetryPolicy NONE = new RetryPolicy(1, Duration.ZERO, Duration.ZERO);

  public RetryPolicy {
    if (attempts < 1) {
      throw new IllegalArgumentException("attempts must be at least 1");
    }
  }

  /** How long to wait after {@code failures} failed tries; empty to give up. */
  Optional<Duration> delay(WinnowException error, int failures) {
    if (error.code() != Code.UNAVAILABLE || failures >= attempts) {
      return Optional.empty();
    }
    // 2^20 is beyond any ceiling: the shift must not overflow.
    long doubled = firstDelay.toNanos() << Math.min(failures - 1, 20);
    long ceiling = Math.min(maxDelay.toNanos(), doubled);
    // Full jitter: clients that failed together do not come back together.
    Duration jittered =
        Duration.ofNanos(RandomGenerator.getDefault().nextLong(Math.max(ceiling, 0) + 1));
    Duration asked = error.retryAfter().orElse(Duration.ZERO);
    return Optional.of(jittered.compareTo(asked) > 0 ? jittered : asked);
  }
}
