#include "services/newsfeed/api/convert.h"
#include "services/platform/proto/timestamp.h"
#include "tests/integration/newsfeed/fixture.h"
#include "tests/support/postgres/postgres_history.h"
#include "tests/support/sync/eventually.h"

namespace winnow::newsfeed {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Feeds : public NewsFeedTest {
 protected:
  // Puts `count` articles a minute apart, the newest first: n0, n1, ...
  void Fill(int count, const std::string& prefix = "n") {
    std::vector<v1::Article> batch;
    for (int i = 0; i < count; ++i) batch.push_back(Make(prefix + std::to_string(i), minutes(i)));
    Upsert(batch);
  }

  // How many articles a scroll sees that asks for what is older than the last one's time.
  int64_t SeenByMilliseconds(int page_size) {
    int64_t seen = 0;
    std::string edge = "infinity";
    for (int64_t last = 1; last > 0; seen += last) {
      const std::string page =
          "(SELECT published_at FROM newsfeed.news_articles WHERE published_at < '" + edge +
          "' ORDER BY published_at DESC LIMIT " + std::to_string(page_size) + ") p";
      last = Count("SELECT count(*) FROM " + page);
      const int64_t ms = Count(
          "SELECT coalesce(1000 * extract(epoch FROM min(published_at)), 0)::bigint FROM " + page);
      edge = FormatTime(Time(milliseconds(ms)));
    }
    return seen;
  }
};

TEST_F(Feeds, OfNothingAreEmptyAndSayWhatIsNewer) {
  const v1::ListArticlesResponse empty = List(Feed());
  EXPECT_THAT(IdsOf(empty), IsEmpty());
  EXPECT_EQ(empty.next_page_token(), "");
  EXPECT_FALSE(empty.meta().has_last_refresh_time());
  EXPECT_TRUE(empty.meta().stale());
  Fill(3);
  EXPECT_THAT(Scroll(Feed("", 2, empty.newer_token())), ElementsAre("n0", "n1", "n2"));
}

TEST_F(Feeds, EndExactlyWhereTheLastPageIsFull) {
  Fill(6);
  v1::ListArticlesResponse page = List(Feed("", 3));
  EXPECT_THAT(IdsOf(page), ElementsAre("n0", "n1", "n2"));
  page = List(Feed("", 3, page.next_page_token()));
  EXPECT_THAT(IdsOf(page), ElementsAre("n3", "n4", "n5"));
  EXPECT_EQ(page.next_page_token(), "");
}

TEST_F(Feeds, SortTiesOfOneMillisecondByIdInByteOrder) {
  Upsert({Make("a"), Make("B"), Make("_"), Make("b"), Make("a1"), Make("9")});
  EXPECT_THAT(Scroll(Feed("", 1)), ElementsAre("b", "a1", "a", "_", "B", "9"));
}

TEST_F(Feeds, OfACategoryShowItsSubtree) {
  Create("tech");
  Create("ai", "tech");
  Create("energy");
  Upsert({Make("x", minutes(1), {"ai"}), Make("y", minutes(2), {"tech", "energy"}),
          Make("z", minutes(3))});
  EXPECT_THAT(Scroll(Feed("ai")), ElementsAre("x"));
  EXPECT_THAT(Scroll(Feed("tech")), ElementsAre("x", "y"));
  EXPECT_THAT(Scroll(Feed("energy")), ElementsAre("y"));
  EXPECT_THAT(Scroll(Feed("uncategorized")), ElementsAre("z"));
  EXPECT_THAT(Scroll(Feed("all")), ElementsAre("x", "y", "z"));
  const auto missing = ListWaiting(feed_handlers_, Call(), Feed("nowhere"));
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
}

TEST_F(Feeds, ShowWhatWasThereWhenTheScrollBegan) {
  Fill(4);
  const v1::ListArticlesResponse first = List(Feed("", 2));
  Upsert({Make("between", minutes(2) + milliseconds(500)), Make("top", milliseconds(0)),
          Make("bottom", hours(5))});
  EXPECT_THAT(Scroll(Feed("", 2, first.next_page_token())), ElementsAre("n2", "n3"));
  const v1::ListArticlesResponse newer = List(Feed("", 2, first.newer_token()));
  EXPECT_THAT(IdsOf(newer), ElementsAre("top", "between"));
  Upsert({Make("later", minutes(1))});
  EXPECT_THAT(Scroll(Feed("", 2, newer.next_page_token())), ElementsAre("bottom"))
      << "the newer feed is a scroll as well";
  EXPECT_THAT(Scroll(Feed("", 2, newer.newer_token())), ElementsAre("later"));
}

TEST_F(Feeds, NeverNeedTheArticleThatATokenWasMadeOf) {
  Fill(4);
  const v1::ListArticlesResponse first = List(Feed("", 2));
  ASSERT_TRUE(Delete("n1").ok());
  ASSERT_TRUE(Delete("n2").ok());
  EXPECT_THAT(Scroll(Feed("", 2, first.next_page_token())), ElementsAre("n3"));
}

TEST_F(Feeds, AreNeverShortenedByWhatWasDeleted) {
  Fill(9);
  for (const char* id : {"n1", "n2", "n3", "n4"}) ASSERT_TRUE(Delete(id).ok());
  const v1::ListArticlesResponse page = List(Feed("", 3));
  EXPECT_THAT(IdsOf(page), ElementsAre("n0", "n5", "n6"));
  EXPECT_NE(page.next_page_token(), "");
}

TEST_F(Feeds, KeepThePlaceOfAnEditedArticle) {
  Fill(3);
  const v1::ListArticlesResponse before = List(Feed());
  clock_.Advance(hours(1));
  v1::Article edit = Make("n1");
  edit.set_title("Another");
  EXPECT_EQ(UpsertOne(edit).outcome(), v1::UPSERT_OUTCOME_UPDATED);
  EXPECT_THAT(Scroll(Feed()), ElementsAre("n0", "n1", "n2"));
  EXPECT_THAT(Scroll(Feed("", 20, before.newer_token())), IsEmpty());
}

TEST_F(Feeds, ThatARecategorisedArticleEntersShowItAsNewThere) {
  Create("tech");
  Create("ai", "tech");
  Create("chips", "tech");
  Upsert({Make("x", minutes(1), {"ai"})});
  const std::string newer_in_tech = List(Feed("tech")).newer_token();
  const std::string newer_in_chips = List(Feed("chips")).newer_token();
  Upsert({Make("x", minutes(1), {"chips"})});
  EXPECT_THAT(Scroll(Feed("ai")), IsEmpty());
  EXPECT_THAT(Scroll(Feed("chips", 20, newer_in_chips)), ElementsAre("x"));
  EXPECT_THAT(Scroll(Feed("tech", 20, newer_in_tech)), IsEmpty());
  EXPECT_THAT(Scroll(Feed("tech")), ElementsAre("x"));
}

TEST_F(Feeds, TakeThePublishedCursor) {
  Fill(4);
  const v1::Article anchor = *Get("n1");
  const int64_t ms = FromTimestamp(anchor.publish_time())->time_since_epoch().count() / 1000;
  EXPECT_THAT(Scroll(Feed("", 1, std::to_string(ms) + "_n1")), ElementsAre("n2", "n3"));
}

// The public implementation asks for max = cursor - 1: what shares the last article's millisecond
// is lost at every page edge.
TEST_F(Feeds, LoseNoTieAtThePageEdgeAsTheMillisecondCursorDoes) {
  std::vector<v1::Article> batch;
  for (int i = 0; i < 60; ++i) {
    batch.push_back(Make("n" + std::to_string(i), minutes(i / 4)));  // whole minutes, four each
  }
  Upsert(batch);
  EXPECT_EQ(Scroll(Feed("", 10)).size(), 60u);
  EXPECT_LT(SeenByMilliseconds(10), 60);
}

TEST_F(Feeds, AreFilteredBySourceLanguageImageAndTime) {
  std::vector<v1::Article> batch;
  for (int i = 0; i < 24; ++i) {
    v1::Article article = Make("n" + std::to_string(i), minutes(i));
    article.set_source("s" + std::to_string(i % 3));
    article.set_language(i % 2 == 0 ? "ko" : "en");
    if (i % 4 == 0) article.set_thumbnail_url("https://img.example/" + std::to_string(i));
    batch.push_back(article);
  }
  Upsert(batch);
  v1::ListArticlesRequest request = Feed("", 2);
  request.mutable_filter()->add_sources("s1");
  EXPECT_THAT(Scroll(request), ElementsAre("n1", "n4", "n7", "n10", "n13", "n16", "n19", "n22"));
  request.mutable_filter()->add_sources("s2");
  request.mutable_filter()->add_sources("s2");
  request.mutable_filter()->add_languages("ko");
  EXPECT_THAT(Scroll(request), ElementsAre("n2", "n4", "n8", "n10", "n14", "n16", "n20", "n22"));
  request.mutable_filter()->set_has_image(true);
  EXPECT_THAT(Scroll(request), ElementsAre("n4", "n8", "n16", "n20"));
  request.mutable_filter()->clear_sources();
  EXPECT_THAT(Scroll(request), ElementsAre("n0", "n4", "n8", "n12", "n16", "n20"));
  *request.mutable_filter()->mutable_publish_time_from() = ToTimestamp(clock_.Now() - minutes(16));
  *request.mutable_filter()->mutable_publish_time_until() = ToTimestamp(clock_.Now() - minutes(4));
  EXPECT_THAT(Scroll(request), ElementsAre("n8", "n12", "n16"));
  request.mutable_filter()->set_has_image(false);
  request.mutable_filter()->clear_languages();
  EXPECT_THAT(Scroll(request),
              ElementsAre("n5", "n6", "n7", "n9", "n10", "n11", "n13", "n14", "n15"));
}

TEST_F(Feeds, FilterByWhatAnEditedArticleIsNow) {
  Fill(2);
  v1::ListArticlesRequest request = Feed();
  request.mutable_filter()->set_has_image(true);
  EXPECT_THAT(Scroll(request), IsEmpty());
  v1::Article edit = Make("n1", minutes(1));
  edit.set_thumbnail_url("https://img.example/1");
  edit.set_source("another");
  UpsertOne(edit);
  EXPECT_THAT(Scroll(request), ElementsAre("n1"));
  request.mutable_filter()->add_sources("another");
  EXPECT_THAT(Scroll(request), ElementsAre("n1"));
}

TEST_F(Feeds, StopShortOnlyForARareFilterAndThenGoOn) {
  Fill(100);
  v1::Article rare = Make("rare", hours(50));
  rare.set_source("rare");
  Upsert({rare});
  FeedQuery query;
  query.category = "all";
  query.filter.has_image = false;
  query.filter.languages = {"", "xx"};  // two scans of half the limit each
  query.page_size = 10;
  query.scan_limit = 40;
  auto page = feeds_.ListArticles(Soon(), query);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(page->articles, SizeIs(10)) << "enough among the first rows is a whole page";

  query.filter = {};
  query.filter.has_image = true;  // none
  int pages = 0;
  for (; page->next || pages == 0; ++pages) {
    page = feeds_.ListArticles(Soon(), query);
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_THAT(page->articles, IsEmpty());
    ASSERT_LT(pages, 10);
    query.position.before = page->next;
    query.position.until = page->until;
    query.position.epoch = page->epoch;
  }
  EXPECT_EQ(pages, 3) << "101 rows, 40 at a time";
}

TEST_F(Feeds, CountRowsThatTheWatermarkHidesAsLookedAt) {
  Fill(5);
  FeedQuery query;
  query.category = "all";
  query.page_size = 2;
  query.scan_limit = 10;
  auto page = feeds_.ListArticles(Soon(), query);
  ASSERT_TRUE(page.ok());
  query.position = {.before = page->next, .until = page->until, .epoch = page->epoch};
  std::vector<v1::Article> later;
  for (int i = 0; i < 25; ++i) {
    later.push_back(Make("l" + std::to_string(i), minutes(1) + milliseconds(i + 1)));
  }
  Upsert(later);
  std::vector<std::string> ids;
  int pages = 0;
  while (query.position.before) {
    page = feeds_.ListArticles(Soon(), query);
    ASSERT_TRUE(page.ok());
    for (const StoredArticle& article : page->articles) ids.push_back(article.content.id);
    query.position.before = page->next;
    ++pages;
  }
  EXPECT_THAT(ids, ElementsAre("n2", "n3", "n4"));
  EXPECT_GE(pages, 3);
}

TEST_F(Feeds, GoOnByKeyInAnotherHistory) {
  Fill(6);
  const v1::ListArticlesResponse first = List(Feed("", 2));
  Upsert({Make("between", minutes(2) + milliseconds(1))});
  test::BeginNewHistory();
  EXPECT_TRUE(test::Eventually([&] {
    return ListWaiting(feed_handlers_, Call(), Feed("", 2)).ok();
  })) << "connected again";
  const v1::ListArticlesResponse page = List(Feed("", 2, first.next_page_token()));
  EXPECT_THAT(IdsOf(page), ElementsAre("n2", "between")) << "all that is there now";
  EXPECT_THAT(Scroll(Feed("", 2, page.next_page_token())), ElementsAre("n3", "n4", "n5"));
}

TEST_F(Feeds, OfADatabaseThatWasSetBackGoOnFromItsHead) {
  Fill(6);
  const v1::ListArticlesResponse first = List(Feed("", 2));
  Execute(
      "DELETE FROM newsfeed.feed_entries WHERE seq > 4; "
      "DELETE FROM newsfeed.news_articles WHERE number > 4; "
      "DELETE FROM newsfeed.feed_log WHERE seq > 4; UPDATE newsfeed.log_streams SET head = 4");
  EXPECT_THAT(Scroll(Feed("", 2, first.next_page_token())), ElementsAre("n2", "n3"));
  const v1::ListArticlesResponse newer = List(Feed("", 2, first.newer_token()));
  EXPECT_THAT(IdsOf(newer), IsEmpty());
  EXPECT_EQ(newer.next_page_token(), "");
  Upsert({Make("later", hours(9))});
  EXPECT_THAT(Scroll(Feed("", 2, newer.newer_token())), ElementsAre("later"));
}

TEST_F(Feeds, ReadTheNewerFeedByKeyWhenItHasGrownLarge) {
  Fill(1);
  FeedQuery query;
  query.category = "all";
  auto page = feeds_.ListArticles(Soon(), query);
  ASSERT_TRUE(page.ok());
  Fill(50, "m");
  query.position = {.since = page->until, .epoch = page->epoch};
  query.scan_limit = 20;
  query.page_size = 15;
  std::vector<std::string> ids;
  do {
    page = feeds_.ListArticles(Soon(), query);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const StoredArticle& article : page->articles) ids.push_back(article.content.id);
    query.position.before = page->next;
    query.position.until = page->until;
  } while (page->next);
  EXPECT_EQ(ids.size(), 50u);
  EXPECT_EQ(ids.front(), "m0");
  EXPECT_EQ(ids.back(), "m49");
}

TEST_F(Feeds, SayHowFreshTheyAre) {
  Fill(1);
  clock_.Set(*FromTimestamp(List(Feed()).meta().last_refresh_time()));
  v1::FeedMeta meta = List(Feed()).meta();
  EXPECT_FALSE(meta.stale());
  ASSERT_EQ(meta.tiers_size(), 1);
  EXPECT_EQ(meta.tiers(0).tier(), v1::TIER_STORE);
  EXPECT_EQ(meta.tiers(0).article_count(), 1);
  clock_.Advance(minutes(10));
  EXPECT_TRUE(List(Feed()).meta().stale());
}

TEST_F(Feeds, RefuseBadRequestsWithAllViolations) {
  v1::ListArticlesRequest request = Feed("No Slug", -1);
  request.set_namespace_("NS");
  for (int i = 0; i < 33; ++i) request.mutable_filter()->add_sources("s");
  request.mutable_filter()->add_languages("");
  request.mutable_filter()->mutable_publish_time_from()->set_seconds(10);
  request.mutable_filter()->mutable_publish_time_until()->set_seconds(10);
  const auto refused = ListWaiting(feed_handlers_, Call(), request);
  std::vector<std::string> fields;
  for (const Violation& violation : ViolationsOf(refused.status())) {
    fields.push_back(violation.field);
  }
  EXPECT_THAT(fields, ::testing::UnorderedElementsAre("namespace", "category_id", "page_size",
                                                      "filter.sources", "filter.languages[0]",
                                                      "filter.publish_time_until"));
}

TEST_F(Feeds, RefuseATokenOfAnotherFeed) {
  Fill(3);
  const std::string token = List(Feed("", 1)).next_page_token();
  v1::ListArticlesRequest request = Feed("", 1, token);
  request.mutable_filter()->set_has_image(true);
  const auto refused = ListWaiting(feed_handlers_, Call(), request);
  EXPECT_EQ(ReasonOf(refused.status()), Reason::kInvalidPageToken);
  EXPECT_THAT(Message(refused.status()), HasSubstr("other filters"));
  EXPECT_THAT(IdsOf(List(Feed("all", 1, token))), ElementsAre("n1")) << "all is the empty category";
}

TEST_F(Feeds, TakePageSizesByTheRule) {
  Fill(150);
  EXPECT_EQ(List(Feed("", 0)).articles_size(), 20);
  EXPECT_EQ(List(Feed("", 1000)).articles_size(), 100);
}

}  // namespace
}  // namespace winnow::newsfeed
