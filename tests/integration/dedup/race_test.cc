#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>

#include "services/dedup/policy/policy_store.h"
#include "tests/support/collector/collector.h"
#include "tests/support/dedup/dedup.h"
#include "tests/support/dedup/dedup_model.h"
#include "tests/support/sync/eventually.h"

namespace winnow::dedup {
namespace {

using test::DedupInstance;
using test::NewDocument;

std::string Story(int number) { return test::StoryTitle(number); }
// The same in other words, as newsrooms go.
std::string Retold(int number) { return "[속보] " + Story(number) + "…"; }

// How many pairs race: WINNOW_RACE_PAIRS, for long runs by hand.
int Pairs() {
  const char* asked = std::getenv("WINNOW_RACE_PAIRS");
  return asked == nullptr ? 600 : std::atoi(asked);
}

// Near-duplicate pairs are submitted at the same time to several instances, each pair split between
// two of them: exactly one of each may pass.
class DedupRace : public ::testing::Test {
 protected:
  static constexpr int kInstances = 4;

  DedupRace() { Open(nullptr); }

  // As instances that compare meanings too, or do not.
  void Open(EmbedderWorker* embedder) {
    for (auto& instance : instances_) {
      instance.reset();
      instance = std::make_unique<DedupInstance>(url_, Policy(), 4'000'000, embedder);
    }
  }

  // Sides of the pairs that are this instance's, in batches of uneven size.
  void SubmitShare(int instance) {
    std::mt19937 random(static_cast<unsigned>(instance));
    std::vector<Document> batch;
    for (int pair = 0; pair < pairs_; ++pair) {
      for (const int side : {0, 1}) {
        if ((pair + side) % kInstances != instance) continue;
        batch.push_back(NewDocument(std::to_string(pair) + (side == 0 ? "a" : "b"),
                                    side == 0 ? "one" : "two",
                                    side == 0 ? Story(pair) : retold_(pair)));
      }
      if (random() % 20 != 0 && pair + 1 != pairs_) continue;
      const bool is_urgent = batch.size() == 1;
      auto& to = *instances_[static_cast<size_t>(instance)];
      SubmitAll(to, batch, is_urgent);
      batch.clear();
    }
  }
  // What found no time on a slow machine is submitted again, as callers do.
  void SubmitAll(DedupInstance& to, std::vector<Document> batch, bool is_urgent) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!batch.empty()) {
      const auto decisions = to.Submit(batch, is_urgent);
      std::vector<Document> again;
      for (size_t i = 0; i < batch.size(); ++i) {
        const bool is_late = decisions[i].status().code() == StatusCode::kDeadlineExceeded;
        ASSERT_TRUE(decisions[i].ok() || is_late) << decisions[i].status();
        if (is_late) again.push_back(batch[i]);
        decided_ += is_late ? 0 : 1;
      }
      ASSERT_TRUE(again.empty() || std::chrono::steady_clock::now() < deadline);
      batch = std::move(again);
    }
  }
  void RaceAll() {
    std::vector<std::thread> threads;
    for (int i = 0; i < kInstances; ++i) threads.emplace_back([this, i] { SubmitShare(i); });
    for (std::thread& thread : threads) thread.join();
  }
  void ExpectOneOfEachPair(const EmbedderCalibration* meaning = nullptr) {
    pg::Pool& pool = instances_[0]->pool();
    EXPECT_EQ(test::QueryNumber(pool, "SELECT count(*) FROM dedup.decisions"), 2 * pairs_);
    EXPECT_EQ(test::QueryNumber(pool, "SELECT count(*) FROM dedup.decisions WHERE verdict = 1"),
              pairs_);
    EXPECT_EQ(test::DifferencesFromReplay(pool, "default", meaning), std::vector<std::string>());
  }
  // Changes the policy while documents are decided.
  void RaceWithChanges();

  std::atomic<int> decided_{0};
  const int pairs_ = Pairs();
  std::function<std::string(int)> retold_ = Retold;
  const std::string url_ = test::NewDedupDatabase();
  std::unique_ptr<DedupInstance> instances_[kInstances];
};

TEST_F(DedupRace, OfPairsRacingOverInstancesExactlyOnePasses) {
  RaceAll();
  ExpectOneOfEachPair();
}

// Changes that leave each pair one, whichever is in force: of the window (narrower and wider), the
// floor (the index is built anew) and the threshold.
PolicyUpdate NextChange(int number) {
  PolicyUpdate update;
  update.ns = "default";
  update.actor = "race";
  update.request_id = std::to_string(number);
  update.change.fields = {"window", "candidate_floor", "token_threshold", "chain_floor",
                          "semantic_threshold"};
  update.change.values.window = std::chrono::hours(1 + number % 3);
  update.change.values.candidate_floor = number % 2 == 0 ? 0.5 : 0.3;
  update.change.values.token_threshold = 0.7 + 0.05 * (number % 4);
  update.change.values.semantic_threshold = 0.7 + 0.05 * (number % 4);
  return update;
}

void DedupRace::RaceWithChanges() {
  int changes = 0;
  std::thread changer([&] {
    DedupInstance own(url_);
    // Each after some more decisions; the last ones are decided under the last change.
    for (int after = 20; after < 2 * pairs_ - 50; after += 60) {
      ASSERT_TRUE(test::Eventually([&] { return decided_ >= after; }));
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      const auto changed = UpdatePolicy(own.logs(), deadline, NextChange(changes), Policy());
      ASSERT_TRUE(changed.ok()) << changed.status();
      ++changes;
    }
  });
  RaceAll();
  changer.join();
  EXPECT_GT(changes, 5);
}

TEST_F(DedupRace, ChangesOfThePolicyMeanwhileAreInOrderWithTheDecisions) {
  RaceWithChanges();
  ExpectOneOfEachPair();
}

// The pairs have no token in common: a model alone knows that they are one story.
TEST_F(DedupRace, SoAreDecisionsByMeaning) {
  const auto elsewhere = [](int number) { return Story(number + 1'000'000); };
  auto knowing = std::make_unique<test::KnowingEmbedder>("knowing");
  const Normalizer& normalizer = test::BuiltInTextRules().normalizer();
  for (int pair = 0; pair < pairs_; ++pair) {
    knowing->Know(normalizer.Normalize(Story(pair)), pair + 1);
    knowing->Know(normalizer.Normalize(elsewhere(pair)), pair + 1);
  }
  Metrics metrics;
  const EmbedderWorkerOptions options{.call_time = std::chrono::seconds(30),
                                      .patience = std::chrono::seconds(30)};
  EmbedderWorker embedder(std::move(knowing), options, metrics);
  Open(&embedder);
  retold_ = elsewhere;
  RaceWithChanges();
  ExpectOneOfEachPair(&embedder.calibration());
  EXPECT_EQ(test::QueryNumber(instances_[0]->pool(),
                              "SELECT count(*) FROM dedup.decisions WHERE stage = 6"),
            pairs_);
  Open(nullptr);  // they end before the embedder
}

}  // namespace
}  // namespace winnow::dedup
