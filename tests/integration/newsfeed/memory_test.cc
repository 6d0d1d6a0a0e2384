#include <algorithm>
#include <random>
#include <set>

#include "services/platform/proto/timestamp.h"
#include "tests/integration/newsfeed/fixture.h"
#include "tests/support/sync/eventually.h"

// The hot tier: memory down to its floor, the store below it, in one page.
namespace winnow::newsfeed {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

class Memory : public NewsFeedTest {
 protected:
  Memory() { memory_worker_.Start(); }

  // n0 (newest) to n<count - 1>, a second apart.
  void Fill(int count) {
    std::vector<v1::Article> articles;
    for (int i = 0; i < count; ++i) articles.push_back(Make("n" + std::to_string(i), seconds(i)));
    Upsert(articles);
  }

  static int32_t Share(const v1::ListArticlesResponse& page, v1::Tier tier) {
    int32_t count = 0;
    for (const v1::TierShare& share : page.meta().tiers()) {
      if (share.tier() == tier) count += share.article_count();
    }
    return count;
  }

  void AwaitMemory(const std::string& category = "") {
    EXPECT_TRUE(test::Eventually(
        [&] { return Share(List(Feed(category, 5)), v1::TIER_MEMORY) > 0 || HasFailure(); }));
  }

  // What the store alone says.
  std::vector<std::string> StoreIds(const std::string& category = "all", int size = 1'000) {
    FeedQuery query;
    query.category = category;
    query.page_size = size;
    std::vector<std::string> ids;
    const auto page = feeds_.ListArticles(Soon(), query);
    EXPECT_TRUE(page.ok()) << page.status();
    for (const StoredArticle& article : page->articles) ids.push_back(article.content.id);
    return ids;
  }
};

TEST_F(Memory, ServesAFeedOnceItWasAskedForAndSaysSo) {
  Fill(30);
  const v1::ListArticlesResponse cold = List(Feed("", 5));
  EXPECT_EQ(Share(cold, v1::TIER_STORE), 5);
  EXPECT_EQ(cold.meta().memory_filled_from(), v1::TIER_UNSPECIFIED);
  AwaitMemory();
  const v1::ListArticlesResponse hot = List(Feed("", 5));
  EXPECT_THAT(IdsOf(hot), ElementsAreArray(IdsOf(cold)));
  EXPECT_EQ(Share(hot, v1::TIER_MEMORY), 5);
  EXPECT_EQ(hot.meta().cached_count(), 20);
  EXPECT_EQ(hot.meta().memory_filled_from(), v1::TIER_STORE);
  EXPECT_EQ(hot.meta().last_refresh_time().seconds(), cold.meta().last_refresh_time().seconds());
  EXPECT_FALSE(hot.meta().degraded());
  EXPECT_EQ(hot.articles(0).SerializeAsString(), cold.articles(0).SerializeAsString());
}

TEST_F(Memory, AnswersTheSameBytesUntilSomethingChanges) {
  Fill(30);
  AwaitMemory();
  const auto bytes = [&](int size) { return *ListHot(feed_handlers_, Feed("", size)); };
  const std::string first = bytes(5);
  EXPECT_EQ(bytes(5), first);
  EXPECT_NE(bytes(6), first);
  Upsert({Make("other", minutes(-1), {}), Make("n3", seconds(3))});
  ASSERT_TRUE(test::Eventually([&] { return memory_.position() >= last_commit_.Get(); }));
  v1::ListArticlesResponse page;
  ASSERT_TRUE(page.ParseFromString(bytes(5)));
  EXPECT_EQ(page.articles(0).id(), "other");
  EXPECT_FALSE(page.meta().stale());
  clock_.Set(*FromTimestamp(page.meta().last_refresh_time()) + minutes(11));
  ASSERT_TRUE(page.ParseFromString(bytes(5)));
  EXPECT_TRUE(page.meta().stale()) << "time makes another page of it too";
}

TEST_F(Memory, IsSplicedWithTheStoreWithinOnePage) {
  Fill(30);
  AwaitMemory();
  v1::ListArticlesResponse page = List(Feed("", 15));
  page = List(Feed("", 15, page.next_page_token()));
  EXPECT_EQ(Share(page, v1::TIER_MEMORY), 5);
  EXPECT_EQ(Share(page, v1::TIER_STORE), 10);
  EXPECT_EQ(page.articles_size(), 15);
  EXPECT_EQ(page.next_page_token(), "");
  // The page that ends at the floor knows whether there are more.
  page = List(Feed("", 20));
  EXPECT_EQ(Share(page, v1::TIER_MEMORY), 20);
  EXPECT_NE(page.next_page_token(), "");
  EXPECT_THAT(Scroll(Feed("", 7)), ElementsAreArray(StoreIds()));
}

TEST_F(Memory, ShowsWhatWasWrittenHereAtOnce) {
  Create("tech");
  Fill(10);
  Upsert({Make("t", minutes(1), {"tech"})});
  AwaitMemory();
  AwaitMemory("tech");
  Upsert({Make("new", seconds(-1), {"tech"})});
  EXPECT_EQ(List(Feed()).articles(0).id(), "new");
  EXPECT_THAT(IdsOf(List(Feed("tech"))), ElementsAre("new", "t"));
  ASSERT_TRUE(Delete("new").ok());
  EXPECT_EQ(List(Feed()).articles(0).id(), "n0");
  EXPECT_THAT(IdsOf(List(Feed("tech"))), ElementsAre("t"));
  v1::Article edited = Make("n0", seconds(0), {"tech"});
  edited.set_title("Edited");
  Upsert({edited});
  EXPECT_EQ(List(Feed()).articles(0).title(), "Edited");
  EXPECT_THAT(IdsOf(List(Feed("tech"))), ElementsAre("n0", "t"));
  edited.clear_categories();
  Upsert({edited});
  EXPECT_THAT(IdsOf(List(Feed("tech"))), ElementsAre("t"));
  EXPECT_EQ(Share(List(Feed("tech")), v1::TIER_MEMORY), 1);
}

TEST_F(Memory, FollowsWhatOtherProcessesWrite) {
  Fill(3);
  AwaitMemory();
  CommitPosition position;
  WriteStore other(writes_, logs_, clock_, position, {});
  ASSERT_TRUE(other.Delete(Soon(), "default", "n1").ok());
  EXPECT_TRUE(test::Eventually([&] { return List(Feed()).articles_size() == 2; }));
  EXPECT_EQ(Share(List(Feed()), v1::TIER_MEMORY), 2);
}

TEST_F(Memory, AppliesFilters) {
  std::vector<v1::Article> articles;
  for (int i = 0; i < 10; ++i) {
    articles.push_back(Make("n" + std::to_string(i), seconds(i)));
    articles.back().set_source(i % 2 == 0 ? "even" : "odd");
    articles.back().set_language(i % 3 == 0 ? "ko" : "en");
    if (i > 4) articles.back().set_thumbnail_url("https://img.example/x.png");
  }
  Upsert(articles);
  AwaitMemory();
  v1::ListArticlesRequest request = Feed("", 2);
  request.mutable_filter()->add_sources("odd");
  request.mutable_filter()->add_languages("en");
  request.mutable_filter()->set_has_image(true);
  EXPECT_THAT(Scroll(request), ElementsAre("n5", "n7"));
  EXPECT_EQ(Share(List(request), v1::TIER_MEMORY), 2);
  request.mutable_filter()->Clear();
  *request.mutable_filter()->mutable_publish_time_from() = ToTimestamp(clock_.Now() - seconds(3));
  *request.mutable_filter()->mutable_publish_time_until() = ToTimestamp(clock_.Now() - seconds(1));
  EXPECT_THAT(Scroll(request), ElementsAre("n2", "n3"));
}

TEST_F(Memory, StartsAfreshWhenTheLogHasDroppedWhatItNeeds) {
  Fill(3);
  AwaitMemory();
  Execute(
      "BEGIN; UPDATE newsfeed.log_streams SET head = head + 10 WHERE stream = 'feeds'; "
      "DELETE FROM newsfeed.feed_entries WHERE id = 'n1'; COMMIT");
  EXPECT_TRUE(test::Eventually([&] { return List(Feed()).articles_size() == 2; }));
  AwaitMemory();
}

TEST_F(Memory, InAnotherHistoryOfTheDatabaseStartsAfresh) {
  Fill(3);
  AwaitMemory();
  const std::string newer = List(Feed()).newer_token();
  Execute(
      "BEGIN; UPDATE newsfeed.log_streams SET epoch = 'restored', head = 1 WHERE stream = 'feeds'; "
      "DELETE FROM newsfeed.feed_entries WHERE id = 'n1'; COMMIT");
  EXPECT_TRUE(test::Eventually([&] { return List(Feed()).articles_size() == 2; }));
  AwaitMemory();
  EXPECT_THAT(IdsOf(List(Feed("", 20, newer))), IsEmpty());
}

TEST_F(Memory, WithTheStoreAwayServesTheHotWindowAndSaysSo) {
  Fill(50);
  AwaitMemory();
  const v1::ListArticlesResponse before = List(Feed("", 10));
  test::Postgres::Instance().TakeAway(url_);
  EXPECT_TRUE(test::Eventually([&] { return List(Feed("", 10)).meta().degraded(); }));
  std::vector<std::string> ids;
  std::string token;
  while (ids.size() < 20 && !HasFailure()) {
    const v1::ListArticlesResponse page = List(Feed("", 7, token));
    EXPECT_TRUE(page.meta().degraded());
    EXPECT_TRUE(page.meta().stale());
    EXPECT_THAT(page.meta().degraded_reasons(), Contains(v1::DEGRADED_REASON_MEMORY_BEHIND));
    for (std::string& id : IdsOf(page)) ids.push_back(std::move(id));
    const bool cut = ids.size() == 20;
    if (!cut) {
      EXPECT_EQ(page.meta().degraded_reasons_size(), 1);
    } else {
      EXPECT_THAT(page.meta().degraded_reasons(), Contains(v1::DEGRADED_REASON_PAGE_CUT));
    }
    token = page.next_page_token();
    ASSERT_NE(token, "");
  }
  EXPECT_EQ(ids.size(), 20U);  // all that memory has
  const auto deep = ListWaiting(feed_handlers_, Call(), Feed("", 7, token));
  EXPECT_EQ(deep.status().code(), StatusCode::kUnavailable) << deep.status();
  test::Postgres::Instance().BringBack(url_);
  EXPECT_TRUE(test::Eventually(
      [&] { return ListWaiting(feed_handlers_, Call(), Feed("", 7, token)).ok(); }));
  for (std::string& id : Scroll(Feed("", 7, token))) ids.push_back(std::move(id));
  EXPECT_THAT(ids, ElementsAreArray(StoreIds()));
  EXPECT_TRUE(test::Eventually([&] { return !List(Feed("", 10)).meta().degraded(); }));
  EXPECT_THAT(IdsOf(List(Feed("", 10))), ElementsAreArray(IdsOf(before)));
}

// Scrolls that go on while articles are inserted, edited, moved, deleted and restored to memory:
// each article that was there when its scroll began, and stayed, is in it exactly once.
TEST_F(Memory, AScrollUnderChangesIsExactlyOnce) {
  Create("tech");
  std::vector<v1::Article> articles;
  std::mt19937 random(11);
  for (int i = 0; i < 300; ++i) {  // many of one time: ties at the edges of pages
    const std::vector<std::string> categories =
        i % 3 == 0 ? std::vector<std::string>{"tech"} : std::vector<std::string>{};
    articles.push_back(Make("a" + std::to_string(i), minutes(i / 25), categories));
  }
  Upsert(articles);
  AwaitMemory();
  AwaitMemory("tech");
  int inserted = 0;
  for (const std::string category : {"", "tech", "", "tech"}) {
    std::set<std::string> stayed;
    for (std::string& id : StoreIds(category.empty() ? "all" : category)) {
      stayed.insert(std::move(id));
    }
    std::vector<std::string> seen;
    std::string token;
    do {
      const v1::ListArticlesResponse page = List(Feed(category, 7, token));
      for (std::string& id : IdsOf(page)) seen.push_back(std::move(id));
      token = page.next_page_token();
      const std::string victim = "a" + std::to_string(random() % 300);
      const auto categories =
          random() % 2 == 0 ? std::vector<std::string>{"tech"} : std::vector<std::string>{};
      switch (random() % 3) {
        case 0:
          Upsert({Make("new" + std::to_string(inserted++), minutes(random() % 12), categories)});
          break;
        case 1:
          ASSERT_TRUE(Delete(victim).ok());
          stayed.erase(victim);
          break;
        default:
          v1::Article edited = Make(victim, {}, categories);
          edited.set_title("Edited " + std::to_string(random()));
          Upsert({edited});
          stayed.erase(victim);
      }
    } while (!token.empty() && !HasFailure());
    std::vector<std::string> distinct = seen;
    std::sort(distinct.begin(), distinct.end());
    EXPECT_EQ(std::unique(distinct.begin(), distinct.end()), distinct.end()) << "repeats";
    for (const std::string& id : stayed) EXPECT_THAT(seen, ::testing::Contains(id));
  }
}

}  // namespace
}  // namespace winnow::newsfeed
