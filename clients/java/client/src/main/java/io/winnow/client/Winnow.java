package io.winnow.client;

import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The services of one address, over one connection. Close it at the end; it may be used by several
 * threads.
 *
 * <pre>{@code
 * try (Winnow winnow = Winnow.connect("127.0.0.1:7400")) {
 *   winnow.collector().batchPutItems(items);
 *   for (Article article : winnow.newsFeed().articles(ListArticlesRequest.getDefaultInstance())) {
 *     System.out.println(article.getTitle());
 *   }
 * }
 * }</pre>
 */
public final class Winnow implements AutoCloseable {
  /** Where `winnow serve` listens by default. */
  public static final String DEFAULT_ADDRESS = "127.0.0.1:7400";

  // The server's own limit; gRPC's default is 4 MB.
  private static final int MAX_MESSAGE_BYTES = 80 << 20;

  private final ManagedChannel channel;
  private final ClassificationClient classification;
  private final CollectorClient collector;
  private final DedupClient dedup;
  private final EventsClient events;
  private final NewsFeedClient newsFeed;
  private final PollingClient polling;

  private Winnow(ManagedChannel channel, Builder builder) {
    Connection connection =
        new Connection(channel, builder.timeout, builder.retry, builder.token);
    this.channel = channel;
    this.classification = new ClassificationClient(connection);
    this.collector = new CollectorClient(connection);
    this.dedup = new DedupClient(connection);
    this.events = new EventsClient(connection);
    this.newsFeed = new NewsFeedClient(connection);
    this.polling = new PollingClient(connection);
  }

  /** A client in the clear with the defaults. Nothing is sent before the first call. */
  public static Winnow connect(String address) {
    return builder(address).build();
  }

  /** A client to be configured. */
  public static Builder builder(String address) {
    return new Builder(address);
  }

  public ClassificationClient classification() {
    return classification;
  }

  public CollectorClient collector() {
    return collector;
  }

  public DedupClient dedup() {
    return dedup;
  }

  public EventsClient events() {
    return events;
  }

  public NewsFeedClient newsFeed() {
    return newsFeed;
  }

  public PollingClient polling() {
    return polling;
  }

  /** Ends the connection; calls in flight get 5 s to end. */
  @Override
  public void close() {
    channel.shutdown();
    try {
      if (!channel.awaitTermination(5, TimeUnit.SECONDS)) {
        channel.shutdownNow();
      }
    } catch (InterruptedException interrupted) {
      channel.shutdownNow();
      Thread.currentThread().interrupt();
    }
  }

  /** Settings of a client. */
  public static final class Builder {
    private final String address;
    private Tls tls;
    private Supplier<String> token;
    private Duration timeout = Duration.ofSeconds(10);
    private RetryPolicy retry = RetryPolicy.DEFAULT;

    private Builder(String address) {
      this.address = Objects.requireNonNull(address);
    }

    /** Transport security; without it the connection is in the clear. */
    public Builder tls(Tls settings) {
      this.tls = settings;
      return this;
    }

    /** Gives the bearer token; asked before each call, so that it may change. */
    public Builder token(Supplier<String> supplier) {
      this.token = supplier;
      return this;
    }

    /** For each call, all its tries together. Default 10 s. */
    public Builder timeout(Duration duration) {
      if (duration.isNegative() || duration.isZero()) {
        throw new IllegalArgumentException("timeout must be positive");
      }
      this.timeout = duration;
      return this;
    }

    /** When failed calls are tried again. */
    public Builder retry(RetryPolicy policy) {
      this.retry = Objects.requireNonNull(policy);
      return this;
    }

    public Winnow build() {
      ManagedChannelBuilder<?> channel =
          Grpc.newChannelBuilder(
                  address, tls == null ? InsecureChannelCredentials.create() : tls.credentials())
              .maxInboundMessageSize(MAX_MESSAGE_BYTES)
              .disableRetry() // retries are RetryPolicy's, which reads RetryInfo
              .proxyDetector(server -> null) // the JVM's proxies are for the web
              .userAgent("winnow-java");
      if (tls != null && tls.serverName() != null) {
        channel.overrideAuthority(tls.serverName());
      }
      return new Winnow(channel.build(), this);
    }
  }
}
