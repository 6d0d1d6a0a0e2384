package io.winnow.example;

import io.winnow.client.Result;
import io.winnow.client.Winnow;
import io.winnow.client.WinnowException;
import io.winnow.collector.v1.Item;
import io.winnow.collector.v1.StoredItem;
import io.winnow.newsfeed.v1.Article;
import io.winnow.newsfeed.v1.ListArticlesRequest;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A collector: pushes a feed (file or http URL) into Winnow and prints the first feed page. */
public final class CollectFeed {
  private static final String USAGE =
      """
      usage: CollectFeed FEED CHANNEL [ADDRESS [NAMESPACE]]
        FEED     an RSS or Atom file, or its http(s) URL
        CHANNEL  the outlet, e.g. my-blog
        ADDRESS  of winnow, default 127.0.0.1:7400
      """;

  private CollectFeed() {}

  public static void main(String[] args) {
    if (args.length < 2 || args.length > 4) {
      System.err.print(USAGE);
      System.exit(2);
    }
    String address = args.length > 2 ? args[2] : Winnow.DEFAULT_ADDRESS;
    String namespace = args.length > 3 ? args[3] : "default";
    try (InputStream feed = open(args[0]);
        Winnow winnow = Winnow.connect(address)) {
      List<Item> items = FeedReader.read(feed, namespace, args[1]);
      Outcome outcome = push(winnow, items);
      System.out.println(outcome);
      print(winnow, namespace);
      System.exit(outcome.refused() == 0 ? 0 : 1);
    } catch (IOException | WinnowException error) {
      System.err.println("CollectFeed: " + error.getMessage());
      System.exit(1);
    }
  }

  /** What became of a feed's items. */
  record Outcome(int created, int present, int refused) {
    @Override
    public String toString() {
      return created + " new, " + present + " already present, " + refused + " refused";
    }
  }

  /** Pushes the items by a stream; prints refused ones on standard error. */
  static Outcome push(Winnow winnow, List<Item> items) {
    int[] counts = new int[3];
    winnow
        .collector()
        .ingestItems(
            items.iterator(),
            (item, result) -> {
              if (result instanceof Result.Failed<StoredItem> failed) {
                counts[2]++;
                System.err.println(item.getUrl() + ": " + failed.error().getMessage());
              } else {
                counts[result.get().getCreated() ? 0 : 1]++;
              }
            });
    return new Outcome(counts[0], counts[1], counts[2]);
  }

  private static void print(Winnow winnow, String namespace) {
    var request = ListArticlesRequest.newBuilder().setNamespace(namespace).build();
    for (Article article : winnow.newsFeed().listArticles(request).getArticlesList()) {
      System.out.printf("%-20s %s%n", article.getSource(), article.getTitle());
    }
  }

  private static InputStream open(String feed) throws IOException {
    boolean remote = feed.startsWith("http://") || feed.startsWith("https://");
    return remote ? URI.create(feed).toURL().openStream() : Files.newInputStream(Path.of(feed));
  }
}
