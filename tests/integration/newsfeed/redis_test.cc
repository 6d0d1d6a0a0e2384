#include "services/newsfeed/projection/projection_client.h"
#include "services/platform/base/text.h"
#include "tests/integration/newsfeed/redis_fixture.h"
#include "tests/support/sync/eventually.h"

// The projection in Redis: what other programs read there, and cold feeds out of it.
namespace winnow::newsfeed {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Pair;
using ::testing::SizeIs;

class Projection : public NewsFeedRedisTest {
 protected:
  // A process that starts cold: what its memory has of a feed once it was asked for.
  v1::ListArticlesResponse ReadCold(
      const std::string& category, int size, const std::function<void()>& between = [] {}) {
    FeedMemory memory(1'000, 4);
    WatchHub watches(metrics_);
    MemoryWorker memory_worker(reads_, feeds_, memory, watches, 1'000, metrics_);
    memory_worker.SetColdRead([&](const std::string& ns, const std::string& id) {
      auto fill = projector_.Read(ns, id);
      between();
      return fill;
    });
    memory_worker.Start();
    FeedHandlers handlers(
        {feeds_, status_, search_, stats_, memory, memory_worker, watches, clock_, pages_}, {});
    v1::ListArticlesResponse page;
    EXPECT_TRUE(test::Eventually([&] {
      auto bytes = ListHot(handlers, Feed(category, size));
      if (bytes) return page.ParseFromString(*bytes);
      EXPECT_TRUE(ListWaiting(handlers, Call(), Feed(category, size)).ok());
      return false;
    }));
    memory_worker.Stop();
    return page;
  }
};

TEST_F(Projection, IsReadByWhoKnowsThePublishedLayout) {
  Create("ai");
  v1::Article full = Make("b_1", seconds(5), {"ai"});
  full.set_snippet("");  // empty is not absent
  full.add_keywords("GPT");
  full.add_ai_tags("tag");
  Upsert({Make("a", seconds(9), {"ai"}), full, Make("c")});
  Project();
  EXPECT_THAT(FeedIn("news:feed:ai"), ElementsAre("b_1", "a"));
  EXPECT_THAT(FeedIn("news:feed:all"), ElementsAre("c", "b_1", "a"));
  EXPECT_THAT(FeedIn("news:feed:uncategorized"), ElementsAre("c"));
  const auto ms = ToMillis(clock_.Now() - seconds(5)).time_since_epoch().count();
  EXPECT_EQ(*Ask({"ZSCORE", "news:feed:ai", "b_1"}).Text(), std::to_string(ms));
  const auto article = *Ask({"HGETALL", "news:article:b_1"}).Pairs();
  EXPECT_THAT(article, Contains(Pair("title", "Title of b_1")));
  EXPECT_THAT(article, Contains(Pair("snippet", "")));
  EXPECT_THAT(article, Contains(Pair("url", "https://news.example/b_1")));
  EXPECT_THAT(article, Contains(Pair("category", "ai")));
  EXPECT_THAT(article, Contains(Pair("published_at_ms", std::to_string(ms))));
  for (const auto& [field, value] : article) EXPECT_TRUE(IsValidUtf8(value)) << field;
  const auto meta = *Ask({"HGETALL", "news:meta:ai"}).Pairs();
  EXPECT_THAT(meta, Contains(Pair("article_count", "2")));
  EXPECT_THAT(meta, Contains(Pair("is_stale", "false")));
  for (const auto& [key, limit] :
       {std::pair{"news:feed:ai", kFeedTtlSeconds}, std::pair{"news:meta:ai", kFeedTtlSeconds},
        std::pair{"news:article:a", kArticleTtlSeconds}}) {
    EXPECT_THAT(*Ask({"TTL", key}).Integer(), AllOf(Gt(limit - 100), Le(limit)));
  }
  EXPECT_EQ(*Ask({"EXISTS", "news:lock:ai", "{news:feed:ai}:next"}).Integer(), 0);
}

TEST_F(Projection, FollowsWhatChangesAndDeletesAnEmptyFeed) {
  Create("ai");
  Upsert({Make("a", {}, {"ai"}), Make("b", seconds(1))});
  Project();
  v1::Article edited = Make("b", seconds(1));
  edited.set_title("Edited");
  Upsert({edited});
  ASSERT_TRUE(Delete("a").ok());
  Project();
  EXPECT_EQ(*Ask({"EXISTS", "news:feed:ai"}).Integer(), 0);
  EXPECT_THAT(FeedIn("news:feed:all"), ElementsAre("b"));
  EXPECT_EQ(*Ask({"HGET", "news:article:b", "title"}).Text(), "Edited");
}

TEST_F(Projection, HoldsTheNewestTwoHundred) {
  std::vector<v1::Article> articles;
  for (int i = 0; i < 230; ++i) articles.push_back(Make("n" + std::to_string(i), seconds(i)));
  Upsert(articles);
  Project();
  const auto feed = FeedIn("news:feed:all");
  ASSERT_THAT(feed, SizeIs(200));
  EXPECT_EQ(feed.front(), "n0");
  EXPECT_EQ(feed.back(), "n199");
  // Where the published reader stops, the published cursor goes on in the API.
  const auto ms = ToMillis(clock_.Now() - seconds(199)).time_since_epoch().count();
  const auto rest = Scroll(Feed("", 20, std::to_string(ms) + "_n199"));
  EXPECT_THAT(rest, SizeIs(30));
  EXPECT_EQ(rest.front(), "n200");
}

TEST_F(Projection, ComesBackAfterAFlushAndAKill) {
  Upsert({Make("a")});
  Project();
  Ask({"FLUSHALL"});
  EXPECT_THAT(FeedIn("news:feed:all"), IsEmpty());
  Project();
  EXPECT_THAT(FeedIn("news:feed:all"), ElementsAre("a"));
  server_.Kill();
  Upsert({Make("b", seconds(-1))});  // nobody notices
  EXPECT_THAT(Scroll(Feed()), ElementsAre("b", "a"));
  EXPECT_FALSE(projector_.Look().ok());
  server_.Start();
  EXPECT_TRUE(test::Eventually([&] { return projector_.Look().ok(); }));
  EXPECT_TRUE(test::Eventually([&] { return reader_.Check().ok(); }));
  EXPECT_THAT(FeedIn("news:feed:all"), ElementsAre("b", "a"));
}

TEST_F(Projection, OneProcessAtATimeWritesIt) {
  Upsert({Make("a")});
  ProjectionWorker other(feeds_, categories_, projections_, redis_, clock_, {}, metrics_);
  Project();
  Ask({"FLUSHALL"});
  ASSERT_TRUE(other.Look().ok());
  EXPECT_THAT(FeedIn("news:feed:all"), IsEmpty()) << "it has no lease";
  Execute("UPDATE newsfeed.projector_lease SET expire_time = '-infinity'");
  ASSERT_TRUE(other.Look().ok());
  EXPECT_THAT(FeedIn("news:feed:all"), ElementsAre("a"));
  // The one before wakes up and goes on with what it had read.
  ProjectionState old;
  old.fence = 1;
  old.epoch = *Ask({"HGET", "{news:feed:all}:state", "epoch"}).Text();
  const redis::ScriptCall swap = MakeSwap("all", old);
  const auto swapped = redis_.Eval(Soon(), SwapScript(), swap.keys, swap.arguments);
  EXPECT_EQ(*swapped->Integer(), 0);
  EXPECT_THAT(FeedIn("news:feed:all"), ElementsAre("a"));
  EXPECT_FALSE(*projections_.Note(Soon(), "default/all", {}, 1));
}

TEST_F(Projection, FillsAColdProcess) {
  std::vector<v1::Article> articles;
  for (int i = 0; i < 30; ++i) articles.push_back(Make("n" + std::to_string(i), seconds(i)));
  Upsert(articles);
  Project();
  // After the projection: a cold process reads these from the log.
  ASSERT_TRUE(Delete("n1").ok());
  Upsert({Make("new", seconds(-1))});
  const v1::ListArticlesResponse page = ReadCold("", 4);
  EXPECT_THAT(IdsOf(page), ElementsAre("new", "n0", "n2", "n3"));
  EXPECT_EQ(page.meta().memory_filled_from(), v1::TIER_REDIS);
  EXPECT_EQ(page.meta().cached_count(), 30);
}

TEST_F(Projection, IsNotBelievedWhenItLies) {
  Upsert({Make("a"), Make("b", seconds(1))});
  Project();
  const auto expect_store = [&](const char* why) {
    const v1::ListArticlesResponse page = ReadCold("", 5);
    EXPECT_THAT(IdsOf(page), ElementsAre("a", "b")) << why;
    EXPECT_EQ(page.meta().memory_filled_from(), v1::TIER_STORE) << why;
    Ask({"FLUSHALL"});
    Project();
  };
  const std::string state = "{news:feed:all}:state";
  Ask({"HSET", "news:article:a", "winnow", *Ask({"HGET", "news:article:b", "winnow"}).Text()});
  expect_store("another article's content");
  Ask({"DEL", "news:article:a"});
  expect_store("an article is lost");
  Ask({"HSET", state, "entries", ""});
  expect_store("entries are lost");
  Ask({"HSET", state, "position", "999999"});
  expect_store("a position of its own");
  Ask({"HSET", state, "entries", "garbage \xff"});
  expect_store("garbage");
  Ask({"DEL", state});
  Ask({"SET", state, "a string"});
  const v1::ListArticlesResponse page = ReadCold("", 5);
  EXPECT_THAT(IdsOf(page), ElementsAre("a", "b")) << "another type";
}

TEST_F(Projection, OfAnEarlierTimeIsNotBelieved) {
  Upsert({Make("a"), Make("b", seconds(1))});
  Project();
  const auto old = *Ask({"HGETALL", "{news:feed:all}:state"}).Pairs();
  ASSERT_TRUE(Delete("b").ok());
  Project();
  redis::Command restore = {"HSET", "{news:feed:all}:state"};
  for (const auto& [field, value] : old) restore.insert(restore.end(), {field, value});
  Ask(restore);
  const v1::ListArticlesResponse page = ReadCold("", 5);
  EXPECT_THAT(IdsOf(page), ElementsAre("a"));
  EXPECT_EQ(page.meta().memory_filled_from(), v1::TIER_STORE);
}

TEST_F(Projection, ChangesBetweenReadingAndFillingAreNotLost) {
  Upsert({Make("a"), Make("b", seconds(1))});
  Project();
  const v1::ListArticlesResponse page = ReadCold("", 5, [&] {
    CommitPosition position;
    WriteStore other(writes_, logs_, clock_, position, {});
    static_cast<void>(other.Delete(Soon(), "default", "b"));
  });
  EXPECT_THAT(IdsOf(page), ElementsAre("a"));
  EXPECT_EQ(page.meta().memory_filled_from(), v1::TIER_REDIS);
  EXPECT_THAT(IdsOf(ReadCold("", 5)), ElementsAre("a"));
}

TEST_F(Projection, AStalledRedisIsNotNoticedByReaders) {
  Upsert({Make("a")});
  Project();
  server_.Stall();
  const v1::ListArticlesResponse page = ReadCold("", 5);
  EXPECT_THAT(IdsOf(page), ElementsAre("a"));
  EXPECT_EQ(page.meta().memory_filled_from(), v1::TIER_STORE);
  server_.Resume();
}

TEST_F(Projection, WithTheStoreAwayLivesLonger) {
  Upsert({Make("a")});
  Project();
  Ask({"EXPIRE", "news:feed:all", "5"});
  Ask({"EXPIRE", "news:article:a", "5"});
  test::Postgres::Instance().TakeAway(url_);
  EXPECT_FALSE(projector_.Look().ok());
  EXPECT_THAT(*Ask({"TTL", "news:feed:all"}).Integer(), Gt(1'000));
  EXPECT_THAT(*Ask({"TTL", "news:article:a"}).Integer(), Gt(1'000));
  test::Postgres::Instance().BringBack(url_);
}

}  // namespace
}  // namespace winnow::newsfeed
