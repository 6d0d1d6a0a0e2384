package io.winnow.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status.Code;
import io.winnow.client.EventsClient;
import io.winnow.client.Winnow;
import io.winnow.client.WinnowException;
import io.winnow.collector.v1.Item;
import io.winnow.collector.v1.ListItemsRequest;
import io.winnow.dedup.v1.Decision;
import io.winnow.dedup.v1.ListDuplicatesRequest;
import io.winnow.dedup.v1.Verdict;
import io.winnow.events.v1.DeadLetterSelection;
import io.winnow.events.v1.ListDeadLettersRequest;
import io.winnow.newsfeed.v1.Article;
import io.winnow.newsfeed.v1.Category;
import io.winnow.newsfeed.v1.ListArticlesRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Drives the built binary: what a Java team would do with it. */
@Tag("e2e")
class PipelineE2eTest {
  private static WinnowProcess server;
  private static Winnow winnow;

  @BeforeAll
  static void start() throws Exception {
    server = new WinnowProcess();
    winnow = Winnow.builder(server.address()).timeout(Duration.ofSeconds(30)).build();
  }

  @AfterAll
  static void stop() throws Exception {
    if (winnow != null) {
      winnow.close();
    }
    if (server != null) {
      server.close();
    }
  }

  private static Item item(String namespace, String channel, String path, String title) {
    return Item.newBuilder()
        .setNamespace(namespace)
        .setChannel(channel)
        .setUrl("https://" + channel + ".example/" + path)
        .setTitle(title)
        .build();
  }

  private static String put(Item item) {
    return winnow.collector().batchPutItems(List.of(item)).get(0).get().getId();
  }

  private static List<Article> feed(String namespace) {
    return winnow
        .newsFeed()
        .articles(ListArticlesRequest.newBuilder().setNamespace(namespace).setPageSize(2).build())
        .stream()
        .toList();
  }

  @Test
  void aSecondReportBecomesACitationOfTheFirst() throws Exception {
    String title = "서울시, 한강 공원에 새 자전거 길 열 곳 개통";
    String first = put(item("java-cite", "first", "1", title));
    Await.until("the article", () -> feed("java-cite").size() == 1);
    String second = put(item("java-cite", "second", "2", title));
    Await.until(
        "the citation",
        () -> winnow.newsFeed().getArticle("java-cite", first).getCitationCount() == 1);

    Decision decision = winnow.dedup().getDecision("java-cite", second);
    assertEquals(Verdict.VERDICT_DUPLICATE, decision.getVerdict());
    assertEquals(first, decision.getOriginalId());
    var duplicates =
        winnow
            .dedup()
            .duplicates(
                ListDuplicatesRequest.newBuilder()
                    .setNamespace("java-cite")
                    .setOriginalId(first)
                    .build());
    assertEquals(List.of(second), duplicates.stream().map(d -> d.getDocumentId()).toList());
    assertEquals(2, winnow.dedup().getCitations("java-cite", first).getChannelCount());
    assertEquals(1, feed("java-cite").size());
  }

  @Test
  void deadLettersAreListedReplayedAndPurged() {
    EventsClient events = winnow.events();
    var everything = ListDeadLettersRequest.getDefaultInstance();
    assertEquals(0, events.deadLetters(everything).stream().count());
    var all = DeadLetterSelection.newBuilder().setAll(true).build();
    assertEquals(0, events.replayDeadLetters(all, true).getDeadLetterCount());
    String id = "collector/1/dedup";
    var one = DeadLetterSelection.newBuilder().addIds(id).build();
    assertEquals(List.of(id), events.purgeDeadLetters(one, false).getMissingIdsList());
    var none = DeadLetterSelection.getDefaultInstance();
    WinnowException refused =
        assertThrows(WinnowException.class, () -> events.purgeDeadLetters(none, false));
    assertEquals(Code.INVALID_ARGUMENT, refused.code());
  }

  @Test
  void aStreamOfItemsIsStoredOnceHoweverOftenItIsSent() {
    List<Item> items =
        IntStream.range(0, 500)
            .mapToObj(n -> item("java-stream", "blog", "p" + n, "Entry number " + n * 7919))
            .toList();
    assertEquals(new CollectFeed.Outcome(500, 0, 0), CollectFeed.push(winnow, items));
    assertEquals(new CollectFeed.Outcome(0, 500, 0), CollectFeed.push(winnow, items));
    var request = ListItemsRequest.newBuilder().setNamespace("java-stream").setPageSize(100);
    assertEquals(500, winnow.collector().items(request.build()).stream().distinct().count());
  }

  @Test
  void aRefusedItemNamesItsFieldAndTheOthersAreStored() {
    var results =
        winnow
            .collector()
            .batchPutItems(
                List.of(
                    item("java-bad", "blog", "good", "A good one"),
                    item("java-bad", "blog", "bad", "")));
    assertTrue(results.get(0).ok());
    var error = assertThrows(WinnowException.class, () -> results.get(1).get());
    assertEquals(Code.INVALID_ARGUMENT, error.code());
    assertEquals("INVALID_FIELD", error.reason());
    assertTrue(error.violations().get(0).field().endsWith("title"), error.getMessage());
  }

  @Test
  void categoriesAreListedAndAnotherOfOneIdIsRefused() {
    var category =
        Category.newBuilder().setNamespace("java-cat").setId("tech").setDisplayName("Tech").build();
    var created = winnow.newsFeed().createCategory(category);
    assertEquals(created, winnow.newsFeed().createCategory(category), "it may be repeated");
    var other = category.toBuilder().setDisplayName("Technology").build();
    var error = assertThrows(WinnowException.class, () -> winnow.newsFeed().createCategory(other));
    assertEquals(Code.ALREADY_EXISTS, error.code());
    assertEquals("RESOURCE_ALREADY_EXISTS", error.reason());
    List<String> ids = new ArrayList<>();
    var request =
        io.winnow.newsfeed.v1.ListCategoriesRequest.newBuilder().setNamespace("java-cat").build();
    winnow.newsFeed().categories(request).forEach(found -> ids.add(found.getId()));
    assertTrue(ids.contains("tech"), ids.toString());
  }

  @Test
  void anUnknownArticleIsNotFound() {
    var error =
        assertThrows(
            WinnowException.class, () -> winnow.newsFeed().getArticle("java-none", "nothing"));
    assertEquals(Code.NOT_FOUND, error.code());
    assertEquals("RESOURCE_NOT_FOUND", error.reason());
  }
}
