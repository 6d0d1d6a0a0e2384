package io.winnow.client;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ClientResponseObserver;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * A bidi stream that answers each request in order, as one blocking loop: the caller's thread reads
 * the source, sends and hears the answers. At most {@link #WINDOW} requests wait for their answer;
 * after a lost connection they are sent again on a new stream.
 */
final class Ingest<T, Q, R> {
  static final int WINDOW = 2000;

  /** The longest wait for an answer. */
  private static final Duration IDLE_TIMEOUT = Duration.ofSeconds(60);

  /** A message of the network thread to the loop. */
  private sealed interface Signal<R> {
    record Answer<R>(R response) implements Signal<R> {}

    record Ready<R>() implements Signal<R> {}

    record End<R>(Status status, Throwable error) implements Signal<R> {}
  }

  private final Connection connection;
  private final MethodDescriptor<Q, R> method;
  private final Iterator<T> source;
  private final Function<T, Q> toRequest;
  private final BiConsumer<T, R> answered;
  private final Deque<T> unanswered = new ArrayDeque<>();

  private Ingest(
      Connection connection,
      MethodDescriptor<Q, R> method,
      Iterator<T> source,
      Function<T, Q> toRequest,
      BiConsumer<T, R> answered) {
    this.connection = connection;
    this.method = method;
    this.source = source;
    this.toRequest = toRequest;
    this.answered = answered;
  }

  /** Sends all of {@code source}; throws what is not UNAVAILABLE, or is so too often in a row. */
  static <T, Q, R> void run(
      Connection connection,
      MethodDescriptor<Q, R> method,
      Iterator<T> source,
      Function<T, Q> toRequest,
      BiConsumer<T, R> answered) {
    new Ingest<>(connection, method, source, toRequest, answered).run();
  }

  private void run() {
    int failures = 0;
    while (true) {
      Stream stream = new Stream();
      try {
        stream.run();
        return;
      } catch (StatusRuntimeException raised) {
        WinnowException error = WinnowException.from(raised);
        failures = stream.answers > 0 ? 1 : failures + 1;
        Optional<Duration> delay = connection.retry().delay(error, failures);
        connection.pauseBeforeNextTry(delay.orElseThrow(() -> error));
      }
    }
  }

  /** One stream, from its start to its end. */
  private final class Stream {
    private final LinkedBlockingQueue<Signal<R>> signals = new LinkedBlockingQueue<>();
    private final ClientCall<Q, R> call =
        connection.authorized().newCall(method, CallOptions.DEFAULT);
    private ClientCallStreamObserver<Q> requests;
    private final Iterator<T> again = new ArrayDeque<>(unanswered).iterator();
    private boolean closed;
    private boolean ended;
    private long answers;

    void run() {
      ClientCalls.asyncBidiStreamingCall(call, new Listener());
      try {
        while (!ended) {
          send();
          handle(await());
        }
      } finally {
        if (!ended) {
          call.cancel("the sender gave up", null);
        }
      }
      if (!unanswered.isEmpty()) {
        throw WinnowException.of(
            Code.INTERNAL, "the server ended the stream before it had answered every request");
      }
    }

    private void send() {
      while (!closed && requests.isReady()) {
        if (again.hasNext()) {
          requests.onNext(toRequest.apply(again.next()));
        } else if (unanswered.size() >= WINDOW) {
          return;
        } else if (source.hasNext()) {
          T element = source.next();
          unanswered.add(element);
          requests.onNext(toRequest.apply(element));
        } else {
          closed = true;
          requests.onCompleted();
        }
      }
    }

    private Signal<R> await() {
      try {
        Signal<R> signal = signals.poll(IDLE_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
        if (signal == null) {
          throw WinnowException.of(
              Code.DEADLINE_EXCEEDED, "no answer on the stream for " + IDLE_TIMEOUT);
        }
        return signal;
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        throw WinnowException.of(Code.CANCELLED, "interrupted while waiting for an answer");
      }
    }

    private void handle(Signal<R> signal) {
      if (signal instanceof Signal.Answer<R> answer) {
        answers++;
        answered.accept(unanswered.remove(), answer.response());
        requests.request(1);
      } else if (signal instanceof Signal.End<R> end) {
        ended = true;
        if (end.error() != null) {
          throw end.error() instanceof StatusRuntimeException raised
              ? raised
              : Status.fromThrowable(end.error()).asRuntimeException();
        }
      }
    }

    private final class Listener implements ClientResponseObserver<Q, R> {
      @Override
      public void beforeStart(ClientCallStreamObserver<Q> observer) {
        requests = observer;
        observer.disableAutoRequestWithInitial(WINDOW);
        observer.setOnReadyHandler(() -> signals.add(new Signal.Ready<>()));
      }

      @Override
      public void onNext(R response) {
        signals.add(new Signal.Answer<>(response));
      }

      @Override
      public void onError(Throwable error) {
        signals.add(new Signal.End<>(Status.fromThrowable(error), error));
      }

      @Override
      public void onCompleted() {
        signals.add(new Signal.End<>(Status.OK, null));
      }
    }
  }
}
