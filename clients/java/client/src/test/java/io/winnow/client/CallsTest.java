package io.winnow.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import io.winnow.collector.v1.BatchPutItemsRequest;
import io.winnow.collector.v1.BatchPutItemsResponse;
import io.winnow.collector.v1.CollectorServiceGrpc.CollectorServiceImplBase;
import io.winnow.collector.v1.GetItemRequest;
import io.winnow.collector.v1.GetItemResponse;
import io.winnow.collector.v1.Item;
import io.winnow.collector.v1.ListItemsRequest;
import io.winnow.collector.v1.ListItemsResponse;
import io.winnow.newsfeed.v1.DeleteCategoryRequest;
import io.winnow.newsfeed.v1.DeleteCategoryResponse;
import io.winnow.newsfeed.v1.NewsFeedServiceGrpc.NewsFeedServiceImplBase;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.SocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class CallsTest {
  private static Item item(String title) {
    return Item.newBuilder().setTitle(title).build();
  }

  private static Winnow connect(FakeServer server) {
    return Winnow.builder(server.address()).timeout(Duration.ofSeconds(30)).build();
  }

  /** A proxy where nothing listens, for every address. */
  private static final class DeadProxy extends ProxySelector {
    @Override
    public List<Proxy> select(URI uri) {
      return List.of(new Proxy(Proxy.Type.HTTP, new InetSocketAddress("127.0.0.1", 1)));
    }

    @Override
    public void connectFailed(URI uri, SocketAddress address, IOException failure) {}
  }

  @Test
  void aProxyOfTheWebIsNotBetweenClientAndServer() throws Exception {
    var service =
        new CollectorServiceImplBase() {
          @Override
          public void getItem(GetItemRequest request, StreamObserver<GetItemResponse> observer) {
            observer.onNext(GetItemResponse.newBuilder().setItem(item("found")).build());
            observer.onCompleted();
          }
        };
    ProxySelector before = ProxySelector.getDefault();
    ProxySelector.setDefault(new DeadProxy());
    try (var server = new FakeServer(service);
        var winnow =
            Winnow.builder(server.address())
                .timeout(Duration.ofSeconds(30))
                .retry(RetryPolicy.NONE)
                .build()) {
      assertEquals("found", winnow.collector().getItem("x").getTitle());
    } finally {
      ProxySelector.setDefault(before);
    }
  }

  private static void isTriedAgainUntilItWorks(Throwable failure) throws Exception {
    AtomicInteger calls = new AtomicInteger();
    var service =
        new CollectorServiceImplBase() {
          @Override
          public void getItem(GetItemRequest request, StreamObserver<GetItemResponse> observer) {
            if (calls.incrementAndGet() < 3) {
              observer.onError(failure);
              return;
            }
            observer.onNext(GetItemResponse.newBuilder().setItem(item("found")).build());
            observer.onCompleted();
          }
        };
    try (var server = new FakeServer(service);
        var winnow = connect(server)) {
      assertEquals("found", winnow.collector().getItem("x").getTitle());
      assertEquals(3, calls.get());
    }
  }

  @Test
  void unavailableIsTriedAgainUntilItWorks() throws Exception {
    isTriedAgainUntilItWorks(FakeServer.unavailable());
  }

  /** As behind Envoy, whose upstream was killed amid a call. */
  @Test
  void aStreamThatAProxyResetIsTriedAgain() throws Exception {
    isTriedAgainUntilItWorks(Status.INTERNAL.withDescription("RST_STREAM").asException());
  }

  @Test
  void theRetriesEndWithTheLastErrorAndItsDetails() throws Exception {
    AtomicInteger calls = new AtomicInteger();
    var service =
        new CollectorServiceImplBase() {
          @Override
          public void getItem(GetItemRequest request, StreamObserver<GetItemResponse> observer) {
            calls.incrementAndGet();
            observer.onError(FakeServer.unavailable());
          }
        };
    try (var server = new FakeServer(service);
        var winnow = connect(server)) {
      var error =
          assertThrows(WinnowException.class, () -> winnow.collector().getItem("x"));
      assertEquals(Code.UNAVAILABLE, error.code());
      assertEquals("STORE_UNAVAILABLE", error.reason());
      assertEquals(Duration.ofMillis(1), error.retryAfter().orElseThrow());
      assertEquals(RetryPolicy.DEFAULT.attempts(), calls.get());
    }
  }

  @Test
  void aCallThatIsNotSafeToRepeatIsMadeOnce() throws Exception {
    AtomicInteger calls = new AtomicInteger();
    var service =
        new NewsFeedServiceImplBase() {
          @Override
          public void deleteCategory(
              DeleteCategoryRequest request, StreamObserver<DeleteCategoryResponse> observer) {
            calls.incrementAndGet();
            observer.onError(FakeServer.unavailable());
          }
        };
    try (var server = new FakeServer(service);
        var winnow = connect(server)) {
      assertThrows(
          WinnowException.class,
          () -> winnow.newsFeed().deleteCategory(DeleteCategoryRequest.getDefaultInstance()));
      assertEquals(1, calls.get());
    }
  }

  @Test
  void anInvalidRequestIsNotTriedAgainAndListsEveryViolation() throws Exception {
    AtomicInteger calls = new AtomicInteger();
    var service =
        new CollectorServiceImplBase() {
          @Override
          public void getItem(GetItemRequest request, StreamObserver<GetItemResponse> observer) {
            calls.incrementAndGet();
            observer.onError(
                StatusProto.toStatusRuntimeException(FakeServer.invalid("id", "name")));
          }
        };
    try (var server = new FakeServer(service);
        var winnow = connect(server)) {
      var error = assertThrows(WinnowException.class, () -> winnow.collector().getItem(""));
      assertEquals(1, calls.get());
      assertEquals(Code.INVALID_ARGUMENT, error.code());
      assertEquals(
          List.of(new Violation("id", "is required"), new Violation("name", "is required")),
          error.violations());
      assertTrue(error.getMessage().contains("name: is required"), error.getMessage());
    }
  }

  @Test
  void theElementsOfABatchFailAlone() throws Exception {
    var service =
        new CollectorServiceImplBase() {
          @Override
          public void batchPutItems(
              BatchPutItemsRequest request, StreamObserver<BatchPutItemsResponse> observer) {
            var response = BatchPutItemsResponse.newBuilder();
            for (Item item : request.getItemsList()) {
              if (item.getTitle().isEmpty()) {
                response.addResultsBuilder().setError(FakeServer.invalid("items[1].title"));
              } else {
                var stored = response.addResultsBuilder().getStoredBuilder();
                stored.setId(item.getTitle()).setCreated(true);
              }
            }
            observer.onNext(response.build());
            observer.onCompleted();
          }
        };
    try (var server = new FakeServer(service);
        var winnow = connect(server)) {
      var results = winnow.collector().batchPutItems(List.of(item("good"), item("")));
      assertEquals("good", results.get(0).get().getId());
      assertFalse(results.get(1).ok());
      var error = assertThrows(WinnowException.class, () -> results.get(1).get());
      assertEquals("items[1].title", error.violations().get(0).field());
    }
  }

  @Test
  void pagesAreReadToTheEndThroughShortAndEmptyOnes() throws Exception {
    var pages = List.of(List.of("a", "b"), List.<String>of(), List.of("c"));
    var service =
        new CollectorServiceImplBase() {
          @Override
          public void listItems(
              ListItemsRequest request, StreamObserver<ListItemsResponse> observer) {
            var token = request.getPageToken();
            int page = token.isEmpty() ? 0 : Integer.parseInt(token);
            var response = ListItemsResponse.newBuilder();
            pages.get(page).forEach(title -> response.addItems(item(title)));
            if (page + 1 < pages.size()) {
              response.setNextPageToken(Integer.toString(page + 1));
            }
            observer.onNext(response.build());
            observer.onCompleted();
          }
        };
    try (var server = new FakeServer(service);
        var winnow = connect(server)) {
      var items = winnow.collector().items(ListItemsRequest.getDefaultInstance());
      assertEquals(List.of("a", "b", "c"), items.stream().map(Item::getTitle).toList());
      assertEquals(3, items.stream().count(), "an iterable can be read again");
    }
  }

  @Test
  void aServerThatRepeatsItsTokenIsAnErrorAndNotALoop() throws Exception {
    var service =
        new CollectorServiceImplBase() {
          @Override
          public void listItems(
              ListItemsRequest request, StreamObserver<ListItemsResponse> observer) {
            observer.onNext(ListItemsResponse.newBuilder().setNextPageToken("same").build());
            observer.onCompleted();
          }
        };
    try (var server = new FakeServer(service);
        var winnow = connect(server)) {
      var items = winnow.collector().items(ListItemsRequest.getDefaultInstance());
      assertThrows(WinnowException.class, () -> items.iterator().hasNext());
    }
  }

  @Test
  void theTokenIsSentWithEachCall() throws Exception {
    AtomicReference<String> seen = new AtomicReference<>();
    var service =
        new CollectorServiceImplBase() {
          @Override
          public void getItem(GetItemRequest request, StreamObserver<GetItemResponse> observer) {
            observer.onNext(GetItemResponse.getDefaultInstance());
            observer.onCompleted();
          }
        };
    var key = Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
    var interceptor =
        new ServerInterceptor() {
          @Override
          public <Q, R> ServerCall.Listener<Q> interceptCall(
              ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
            seen.set(headers.get(key));
            return io.grpc.Contexts.interceptCall(Context.current(), call, headers, next);
          }
        };
    try (var server =
            new FakeServer(() -> ServerInterceptors.intercept(service, interceptor));
        var winnow = Winnow.builder(server.address()).token(() -> "secret").build()) {
      winnow.collector().getItem("x");
      assertEquals("Bearer secret", seen.get());
    }
  }

  @Test
  void aServerThatIsNotThereIsUnavailable() throws Exception {
    String address;
    try (var server = new FakeServer(new CollectorServiceImplBase() {})) {
      address = server.address();
    }
    try (var winnow = Winnow.builder(address).retry(RetryPolicy.NONE).build()) {
      var error = assertThrows(WinnowException.class, () -> winnow.collector().getItem("x"));
      assertEquals(Code.UNAVAILABLE, error.code());
      assertEquals("", error.reason());
    }
  }
}
