#include <atomic>
#include <barrier>
#include <thread>

#include "tests/integration/newsfeed/redis_fixture.h"
#include "tests/support/sync/eventually.h"

// What goes wrong with caches, batches and counters in the known systems. Each test is its own
// control: the naive way fails on the same data.
namespace winnow::newsfeed {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;

class CacheFailures : public NewsFeedRedisTest {
 protected:
  // A page of the cache below a cursor, as the public implementation reads it.
  StatusOr<std::vector<std::string>> NaivePage(const std::string& below) {
    WINNOW_ASSIGN_OR_RETURN(const redis::Reply reply,
                            reader_.Run(Soon(), {"ZREVRANGEBYSCORE", "news:feed:all", below, "-inf",
                                                 "LIMIT", "0", "20"}));
    return reply.Texts();
  }

  // Every command that Redis has got since its log was emptied.
  std::vector<std::string> CommandsSeen() {
    std::vector<std::string> seen;
    const redis::Reply log = Ask({"SLOWLOG", "GET", "10000"});
    for (const redis::Reply& entry : *log.items()) {
      std::string command;
      for (const redis::Reply& word : *entry.items()->at(3).items()) {
        command += (command.empty() ? "" : " ") + *word.text();
      }
      seen.push_back(std::move(command));
    }
    return seen;
  }
};

TEST_F(CacheFailures, AScrollOfTheCacheEndsWithIt) {
  std::vector<v1::Article> articles;
  for (int i = 0; i < 230; ++i) articles.push_back(Make("n" + std::to_string(i), seconds(i)));
  Upsert(articles);
  Project();
  size_t shown = 0;
  std::string below = "+inf";
  while (true) {
    const auto page = NaivePage(below);
    ASSERT_TRUE(page.ok()) << page.status();
    shown += page->size();
    if (page->size() < 20) break;
    below = "(" + *Ask({"ZSCORE", "news:feed:all", page->back()}).Text();
  }
  EXPECT_EQ(shown, 200u) << "the control";
  EXPECT_THAT(Scroll(Feed("", 20)), SizeIs(230));
}

TEST_F(CacheFailures, ADeadRedisIsADeadFeed) {
  Upsert({Make("a"), Make("b", seconds(1))});
  Project();
  EXPECT_THAT(*NaivePage("+inf"), ElementsAre("a", "b"));
  server_.Kill();
  EXPECT_FALSE(NaivePage("+inf").ok()) << "the control";
  Upsert({Make("new", seconds(-1))});
  EXPECT_THAT(IdsOf(List(Feed())), ElementsAre("new", "a", "b"));
  memory_worker_.Start();
  EXPECT_TRUE(test::Eventually([&] {
    return List(Feed()).meta().memory_filled_from() == v1::TIER_STORE;  // memory has it without
  }));
}

// There, the lock, the meta hash and the expiry stood in the code and were never called.
TEST_F(CacheFailures, WhatIsWrittenDownIsDone) {
  Upsert({Make("a")});
  Ask({"CONFIG", "SET", "slowlog-max-len", "10000"});
  Ask({"CONFIG", "SET", "slowlog-log-slower-than", "0"});
  Project();
  const std::vector<std::string> seen = CommandsSeen();
  EXPECT_THAT(
      seen, IsSupersetOf({HasSubstr("SET news:lock:all"), HasSubstr("HSET news:meta:all"),
                          HasSubstr("EXPIRE news:meta:all"), HasSubstr("DEL news:lock:all"),
                          HasSubstr("EXPIRE news:article:a"), HasSubstr("{news:feed:all}:next")}));
}

// The control dies between INCR and EXPIRE.
TEST_F(CacheFailures, ACounterOfTwoStepsLivesForEver) {
  Ask({"INCR", "news:count:2026-02-01"});
  EXPECT_EQ(*Ask({"TTL", "news:count:2026-02-01"}).Integer(), -1);
  Upsert({Make("a")});
  Execute("UPDATE newsfeed.feed_counters SET day = day - 91");
  Upsert({Make("b")});  // the next count deletes what has expired
  EXPECT_EQ(Count("SELECT count(DISTINCT day) FROM newsfeed.feed_counters"), 1);
}

// The control counts by the date of another place; at any time it is another one somewhere.
TEST_F(CacheFailures, ADayOfLocalDatesIsNotTheDayThatExpires) {
  UpsertOne(Make("a"));
  const auto counted_on = [&](const std::string& zone) {
    return Count(
        "SELECT count(*) FROM newsfeed.feed_counters c, newsfeed.news_articles a "
        "WHERE c.kind = 2 AND c.day = (a.created_at AT TIME ZONE " +
        zone + ")::date");
  };
  EXPECT_EQ(counted_on("CASE WHEN extract(hour FROM a.created_at AT TIME ZONE 'UTC') < 12 "
                       "THEN 'Etc/GMT+12' ELSE 'Etc/GMT-14' END"),
            0)
      << "the control: another day";
  EXPECT_EQ(counted_on("'UTC'"), 1);
}

// Beside it, the table of a naive store.
class BatchFailures : public NewsFeedTest {
 protected:
  BatchFailures() {
    Execute("CREATE TABLE naive (id text PRIMARY KEY, url text UNIQUE, title text NOT NULL)");
  }
  Status Try(const std::string& sql) {
    return writes_.Statements(Soon(), [&](pg::Session& session) {
      session.ExecuteText(sql);
      return OkStatus();
    });
  }
};

TEST_F(BatchFailures, OneBadRowTakesItsBatchWithIt) {
  EXPECT_FALSE(
      Try("INSERT INTO naive VALUES ('a', 'u1', 'A'), ('b', 'u2', NULL), ('c', 'u3', 'C')").ok());
  EXPECT_EQ(Count("SELECT count(*) FROM naive"), 0) << "the control";
  v1::Article bad = Make("b");
  bad.clear_title();
  const v1::BatchUpsertArticlesResponse response = Upsert({Make("a"), bad, Make("c")});
  EXPECT_TRUE(response.results(0).has_upserted());
  EXPECT_THAT(response.results(1).error().message(), HasSubstr("articles[1].title"));
  EXPECT_TRUE(response.results(2).has_upserted());
  EXPECT_THAT(IdsOf(List(Feed())), ElementsAre("c", "a"));
}

TEST_F(BatchFailures, AClashThatOnConflictDoesNotNameIsAnError) {
  const std::string update = " DO UPDATE SET title = excluded.title";
  ASSERT_TRUE(Try("INSERT INTO naive VALUES ('a', 'u1', 'A')").ok());
  EXPECT_FALSE(Try("INSERT INTO naive VALUES ('a', 'u2', 'B') ON CONFLICT (url)" + update).ok());
  EXPECT_FALSE(Try("INSERT INTO naive VALUES ('b', 'u1', 'B') ON CONFLICT (id)" + update).ok());
  UpsertOne(Make("a"));
  v1::Article merged = Make("b");
  merged.set_url(Make("a").url());
  EXPECT_EQ(UpsertOne(merged).outcome(), v1::UPSERT_OUTCOME_MERGED) << "same page, another id";
  v1::Article moved = Make("a");
  moved.set_url("https://news.example/elsewhere");
  EXPECT_EQ(UpsertOne(moved).outcome(), v1::UPSERT_OUTCOME_UPDATED) << "same id, another page";
}

// Each writer of the control has one row and wants the other's: one of the two transactions is
// ended by the database, and runs again.
TEST_F(BatchFailures, UpsertsInDifferentOrdersDeadlock) {
  std::barrier meet(2);
  std::atomic<int> runs = 0;
  const auto write = [&](const char* first, const char* second) {
    bool met = false;
    const Status written = writes_.Transaction(Soon(), [&](pg::Session& session) {
      ++runs;
      session.ExecuteText("SET LOCAL deadlock_timeout = '20ms'");
      for (const char* id : {first, second}) {
        session.ExecuteText("INSERT INTO naive VALUES ('" + std::string(id) + "', '" + id +
                            "', 'T') ON CONFLICT (id) DO UPDATE SET title = excluded.title");
        if (!met) meet.arrive_and_wait();
        met = true;
      }
      return OkStatus();
    });
    EXPECT_TRUE(written.ok()) << written;
  };
  std::thread there(write, "a", "b");
  write("b", "a");
  there.join();
  EXPECT_GT(runs, 2) << "the control";
  // Ours takes one lock before any row: nobody is ended.
  std::vector<v1::Article> forth;
  for (int i = 0; i < 60; ++i) forth.push_back(Make("n" + std::to_string(i)));
  const std::vector<v1::Article> back(forth.rbegin(), forth.rend());
  std::thread other([&] { EXPECT_EQ(Upsert(forth).results_size(), 60); });
  EXPECT_EQ(Upsert(back).results_size(), 60);
  other.join();
  EXPECT_EQ(Count("SELECT count(*) FROM newsfeed.news_articles"), 60);
}

}  // namespace
}  // namespace winnow::newsfeed
