package io.winnow.client;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import java.time.Duration;
import java.util.Iterator;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** A channel with what all calls over it have in common. */
final class Connection {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final ManagedChannel channel;
  private final Duration timeout;
  private final RetryPolicy retry;
  private final Supplier<String> token;

  Connection(ManagedChannel channel, Duration timeout, RetryPolicy retry, Supplier<String> token) {
    this.channel = channel;
    this.timeout = timeout;
    this.retry = retry;
    this.token = token;
  }

  RetryPolicy retry() {
    return retry;
  }

  /** The channel with this moment's token: it may change between calls. */
  Channel authorized() {
    if (token == null) {
      return channel;
    }
    Metadata headers = new Metadata();
    headers.put(AUTHORIZATION, "Bearer " + token.get());
    return ClientInterceptors.intercept(
        channel, MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  /** One call that is safe to repeat. The timeout is for all its tries together. */
  <Q, R> R call(MethodDescriptor<Q, R> method, Q request) {
    return call(method, request, retry);
  }

  /** One call that is not: a second try would meet what the first did. */
  <Q, R> R callOnce(MethodDescriptor<Q, R> method, Q request) {
    return call(method, request, RetryPolicy.NONE);
  }

  private <Q, R> R call(MethodDescriptor<Q, R> method, Q request, RetryPolicy policy) {
    long deadline = System.nanoTime() + timeout.toNanos();
    for (int failures = 1; ; failures++) {
      long left = deadline - System.nanoTime();
      if (left <= 0) {
        throw WinnowException.of(Code.DEADLINE_EXCEEDED, "no time left of " + timeout);
      }
      try {
        CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(left, TimeUnit.NANOSECONDS);
        return ClientCalls.blockingUnaryCall(authorized(), method, options, request);
      } catch (StatusRuntimeException raised) {
        WinnowException error = WinnowException.from(raised);
        Optional<Duration> delay = policy.delay(error, failures);
        if (delay.isEmpty() || delay.get().toNanos() >= deadline - System.nanoTime()) {
          throw error;
        }
        pauseBeforeNextTry(delay.get());
      }
    }
  }

  /** A server stream's messages, without a deadline; it ends with the exception of its status. */
  <Q, R> Iterator<R> watch(MethodDescriptor<Q, R> method, Q request) {
    Iterator<R> messages =
        ClientCalls.blockingServerStreamingCall(
            authorized(), method, CallOptions.DEFAULT, request);
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        try {
          return messages.hasNext();
        } catch (StatusRuntimeException raised) {
          throw WinnowException.from(raised);
        }
      }

      @Override
      public R next() {
        try {
          return messages.next();
        } catch (StatusRuntimeException raised) {
          throw WinnowException.from(raised);
        }
      }
    };
  }

  /**
   * Waits, then lets the next try look for the server at once: while gRPC backs off, which it does
   * for up to two minutes, every call fails without looking.
   */
  void pauseBeforeNextTry(Duration delay) {
    try {
      TimeUnit.NANOSECONDS.sleep(delay.toNanos());
      channel.resetConnectBackoff();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw WinnowException.of(Code.CANCELLED, "interrupted while waiting to try again");
    }
  }
}
