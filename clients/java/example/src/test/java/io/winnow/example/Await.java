package io.winnow.example;

import static org.junit.jupiter.api.Assertions.fail;

import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** Waiting for a condition: the one place where these tests pass time. */
final class Await {
  // Generous, for a machine many times slower: it is only spent where something is broken.
  private static final long LIMIT_SECONDS = 180;
  private static final long INTERVAL_MILLIS = 10;

  private Await() {}

  /** Returns when the condition holds. */
  static void until(String what, BooleanSupplier condition) throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > deadline) {
        fail("not within %d s: %s".formatted(LIMIT_SECONDS, what));
      }
      TimeUnit.MILLISECONDS.sleep(INTERVAL_MILLIS); // between two looks
    }
  }
}
