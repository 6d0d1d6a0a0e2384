#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "services/dedup/decide/bulk_turns.h"
#include "tests/support/collector/collector.h"
#include "tests/support/dedup/dedup.h"
#include "tests/support/sync/eventually.h"

namespace winnow::dedup {
namespace {

using test::DedupInstance;
using test::NewDocument;

// The turns of one instance, and those that it was granted.
class Instance {
 public:
  explicit Instance(const std::string& url)
      : pool_({.name = "log", .url = url, .connections = 5}, metrics_),
        turns_(pool_, DecisionMetrics(metrics_).turn_seconds, [this](auto&, BulkTurns::Turn turn) {
          const std::lock_guard lock(mutex_);
          if (turn) held_.push_back(std::move(turn));
          ++grants_;
        }) {
    turns_.Start();
  }
  ~Instance() {
    GiveBack();
    turns_.Stop();
  }

  // Threads begin in their own time.
  void Ask(const std::string& ns) {
    ASSERT_TRUE(test::Eventually([&] { return turns_.Ask(ns); }));
  }
  bool MayAsk(const std::string& ns) { return turns_.Ask(ns); }
  void GiveBack() {
    const std::lock_guard lock(mutex_);
    held_.clear();
  }
  int grants() const { return grants_; }
  bool has_turn() {
    const std::lock_guard lock(mutex_);
    return !held_.empty();
  }

 private:
  Metrics metrics_;
  pg::Pool pool_;
  std::mutex mutex_;
  std::vector<BulkTurns::Turn> held_;
  std::atomic<int> grants_ = 0;
  BulkTurns turns_;
};

class DedupTurns : public ::testing::Test {
 protected:
  // Transactions that wait for a turn.
  bool IsAnybodyWaiting() {
    return test::QueryNumber(watcher_.pool(),
                             "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
                             " AND NOT granted AND database ="
                             " (SELECT oid FROM pg_database WHERE datname = current_database())") >
           0;
  }

  const std::string url_ = test::NewDedupDatabase();
  DedupInstance watcher_{url_};
};

TEST_F(DedupTurns, OneInstanceHasTheTurnOfANamespaceAndTheNextOneFollows) {
  Instance first(url_), second(url_);
  first.Ask("news");
  ASSERT_TRUE(test::Eventually([&] { return first.has_turn(); }));
  second.Ask("news");
  ASSERT_TRUE(test::Eventually([&] { return IsAnybodyWaiting(); }));
  first.GiveBack();
  EXPECT_TRUE(test::Eventually([&] { return second.has_turn(); }));
}

TEST_F(DedupTurns, NamespacesDoNotWaitForEachOther) {
  Instance first(url_), second(url_);
  first.Ask("news");
  ASSERT_TRUE(test::Eventually([&] { return first.has_turn(); }));
  second.Ask("posts");
  EXPECT_TRUE(test::Eventually([&] { return second.has_turn(); }));
}

TEST_F(DedupTurns, WhoWaitedLongGoesOnWithout) {
  Instance first(url_), second(url_);
  first.Ask("news");
  ASSERT_TRUE(test::Eventually([&] { return first.has_turn(); }));
  second.Ask("news");
  ASSERT_TRUE(test::Eventually([&] { return second.grants() == 1; }));
  EXPECT_FALSE(second.has_turn());
}

TEST_F(DedupTurns, NoMoreAreWaitedForThanThereAreThreads) {
  Instance first(url_);
  for (int i = 0; i < 4; ++i) first.Ask(std::to_string(i));
  EXPECT_FALSE(first.MayAsk("one more"));
  EXPECT_TRUE(test::Eventually([&] { return first.grants() == 4; }));
}

TEST_F(DedupTurns, SomebodyWhoWaitsIsAnsweredWhileBulkWaitsForItsTurn) {
  DedupInstance instance(url_);
  // The instance meets what another one wrote: from now on its bulk takes turns.
  ASSERT_TRUE(instance.SubmitOne(NewDocument("a", "one", test::StoryTitle(1))).ok());
  ASSERT_TRUE(watcher_.SubmitOne(NewDocument("b", "one", test::StoryTitle(2))).ok());
  ASSERT_TRUE(instance.SubmitOne(NewDocument("c", "one", test::StoryTitle(3))).ok());
  Instance other(url_);
  other.Ask("default");
  ASSERT_TRUE(test::Eventually([&] { return other.has_turn(); }));
  std::vector<StatusOr<Decision>> bulk;
  std::thread stream(
      [&] { bulk = instance.Submit({NewDocument("d", "one", test::StoryTitle(4))}); });
  EXPECT_TRUE(test::Eventually([&] { return IsAnybodyWaiting(); }));
  const auto urgent =
      instance.Submit({NewDocument("e", "one", test::StoryTitle(5))}, /*is_urgent=*/true);
  EXPECT_TRUE(urgent[0].ok()) << urgent[0].status();
  other.GiveBack();
  stream.join();
  EXPECT_TRUE(bulk[0].ok()) << bulk[0].status();
}

}  // namespace
}  // namespace winnow::dedup
