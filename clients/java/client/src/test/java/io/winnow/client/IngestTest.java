package io.winnow.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.stub.StreamObserver;
import io.winnow.collector.v1.CollectorServiceGrpc.CollectorServiceImplBase;
import io.winnow.collector.v1.IngestItemsRequest;
import io.winnow.collector.v1.IngestItemsResponse;
import io.winnow.collector.v1.Item;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class IngestTest {
  private static List<Item> items(int count) {
    return IntStream.range(0, count)
        .mapToObj(n -> Item.newBuilder().setTitle("item " + n).build())
        .toList();
  }

  /** Answers each item; every stream but the last is cut after so many answers. */
  private static final class CuttingCollector extends CollectorServiceImplBase {
    final List<String> stored = Collections.synchronizedList(new ArrayList<>());
    final AtomicInteger streams = new AtomicInteger();
    private final int cuts;
    private final int answersBeforeCut;

    CuttingCollector(int cuts, int answersBeforeCut) {
      this.cuts = cuts;
      this.answersBeforeCut = answersBeforeCut;
    }

    @Override
    public StreamObserver<IngestItemsRequest> ingestItems(
        StreamObserver<IngestItemsResponse> observer) {
      boolean cut = streams.incrementAndGet() <= cuts;
      return new StreamObserver<>() {
        private int answers;
        private boolean ended;

        @Override
        public void onNext(IngestItemsRequest request) {
          if (ended) {
            return;
          }
          if (cut && answers == answersBeforeCut) {
            ended = true;
            observer.onError(FakeServer.unavailable());
            return;
          }
          answers++;
          stored.add(request.getItem().getTitle());
          var response = IngestItemsResponse.newBuilder();
          response.getResultBuilder().getStoredBuilder().setId(request.getItem().getTitle());
          observer.onNext(response.build());
        }

        @Override
        public void onError(Throwable error) {}

        @Override
        public void onCompleted() {
          if (!ended) {
            observer.onCompleted();
          }
        }
      };
    }
  }

  private static List<String> ingest(Winnow winnow, List<Item> items) {
    List<String> answered = new ArrayList<>();
    winnow
        .collector()
        .ingestItems(
            items.iterator(),
            (item, result) -> {
              assertEquals(item.getTitle(), result.get().getId());
              answered.add(item.getTitle());
            });
    return answered;
  }

  @Test
  void everyItemIsAnsweredOnceInOrder() throws Exception {
    var service = new CuttingCollector(0, 0);
    try (var server = new FakeServer(service);
        var winnow = Winnow.connect(server.address())) {
      var items = items(5000);
      assertEquals(items.stream().map(Item::getTitle).toList(), ingest(winnow, items));
    }
  }

  @Test
  void aStreamThatIsCutIsResumedWithWhatWasNotAnswered() throws Exception {
    var service = new CuttingCollector(7, 300); // more cuts than tries: each made progress
    try (var server = new FakeServer(service);
        var winnow = Winnow.connect(server.address())) {
      var items = items(5000);
      assertEquals(items.stream().map(Item::getTitle).toList(), ingest(winnow, items));
      assertEquals(8, service.streams.get());
      assertTrue(service.stored.containsAll(items.stream().map(Item::getTitle).toList()));
    }
  }

  @Test
  void aStreamThatNeverGetsAnywhereGivesUp() throws Exception {
    var service = new CuttingCollector(Integer.MAX_VALUE, 0);
    try (var server = new FakeServer(service);
        var winnow = Winnow.connect(server.address())) {
      var error = assertThrows(WinnowException.class, () -> ingest(winnow, items(10)));
      assertEquals(Code.UNAVAILABLE, error.code());
      assertEquals(RetryPolicy.DEFAULT.attempts(), service.streams.get());
    }
  }

  @Test
  void anotherErrorIsThrownAtOnce() throws Exception {
    AtomicInteger streams = new AtomicInteger();
    var service =
        new CollectorServiceImplBase() {
          @Override
          public StreamObserver<IngestItemsRequest> ingestItems(
              StreamObserver<IngestItemsResponse> observer) {
            streams.incrementAndGet();
            observer.onError(Status.UNAUTHENTICATED.asRuntimeException());
            return observerOfNothing();
          }
        };
    try (var server = new FakeServer(service);
        var winnow = Winnow.connect(server.address())) {
      var error = assertThrows(WinnowException.class, () -> ingest(winnow, items(10)));
      assertEquals(Code.UNAUTHENTICATED, error.code());
      assertEquals(1, streams.get());
    }
  }

  @Test
  void anEmptySourceEndsAtOnce() throws Exception {
    try (var server = new FakeServer(new CuttingCollector(0, 0));
        var winnow = Winnow.connect(server.address())) {
      assertEquals(List.of(), ingest(winnow, List.of()));
    }
  }

  private static <T> StreamObserver<T> observerOfNothing() {
    return new StreamObserver<>() {
      @Override
      public void onNext(T value) {}

      @Override
      public void onError(Throwable error) {}

      @Override
      public void onCompleted() {}
    };
  }
}
