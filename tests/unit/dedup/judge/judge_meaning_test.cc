#include <gtest/gtest.h>

#include <random>

#include "services/dedup/judge/judge.h"
#include "tests/support/dedup/dedup_world.h"

// Judging by meaning: vectors here are given, as a model would have made them.
namespace winnow::dedup {
namespace {

using std::chrono::microseconds;

const EmbedderCalibration kModel{"given", 0.2, 0.9};

// Titles that have nothing in common, with what they mean.
Fingerprint Print(uint32_t number, index::Vector vector) {
  Fingerprint print;
  print.normalized_title = "title " + std::to_string(number);
  print.title = {2 * number, 2 * number + 1};
  print.title_hash = number;
  print.vector = std::move(vector);
  return print;
}

class MeaningTest : public ::testing::Test {
 protected:
  Judgement Judged(const Fingerprint& print, uint32_t channel,
                   const EmbedderCalibration* meaning = &kModel) {
    return Judge(print, channel, now_, window_, {policy_, words_, meaning}, scratch_);
  }
  // Judges, and remembers.
  Judgement Tell(const Fingerprint& print, uint32_t channel) {
    now_ += microseconds(1);
    Judgement judged = Judged(print, channel);
    index::NewEntry next{++seq_, now_, channel, 0, print.title_hash, print.title, {}, {}};
    next.text = print.normalized_title;
    next.vector = print.vector;
    if (judged.is_duplicate()) next.root = window_.root(judged.candidates.front().ref);
    window_.Append(next);
    return judged;
  }

  index::WindowIndex window_{{}};
  Policy policy_;
  TitleWords words_;
  index::ProbeScratch scratch_;
  Time now_{};
  int64_t seq_ = 0;
};

TEST_F(MeaningTest, AParaphraseBelowEveryTokenFloorIsFoundByItsMeaning) {
  Tell(Print(1, {100, 0, 0}), 1);
  const Judgement judged = Judged(Print(2, {100, 20, 0}), 2);
  EXPECT_TRUE(judged.is_duplicate());
  EXPECT_EQ(judged.stage, Stage::kSemantic);
  ASSERT_EQ(judged.candidates.size(), 1U);
  EXPECT_EQ(judged.candidates.front().root_seq, 1);
  EXPECT_EQ(judged.candidates.front().scores.jaccard, 0);
  EXPECT_EQ(judged.similarity, judged.candidates.front().scores.semantic);
  EXPECT_FALSE(Judged(Print(2, {100, 20, 0}), 2, nullptr).is_duplicate()) << "without a model";
  EXPECT_FALSE(Judged(Print(2, {}), 2).is_duplicate()) << "without a vector";
  EXPECT_FALSE(Judged(Print(2, {100, 90, 0}), 2).is_duplicate()) << "too far";
  EXPECT_FALSE(Judged(Print(2, {100, 20}), 2).is_duplicate()) << "of other dimensions";
  const Judgement own = Judged(Print(2, {100, 20, 0}), 1);
  EXPECT_FALSE(own.is_duplicate()) << "of the same channel";
  EXPECT_EQ(own.candidates.front().guards, std::vector{Guard::kSameChannel});
}

TEST_F(MeaningTest, AChainEndsWhereTheOriginalMeansSomethingElse) {
  Tell(Print(1, {100, 0}), 1);
  EXPECT_TRUE(Tell(Print(2, {100, 45}), 2).is_duplicate());
  const Judgement third = Tell(Print(3, {80, 80}), 3);
  EXPECT_FALSE(third.is_duplicate()) << "near the second, far from the first";
  ASSERT_FALSE(third.candidates.empty());
  EXPECT_EQ(third.candidates.front().guards, std::vector{Guard::kChain});
  const Judgement near = Tell(Print(4, {100, 60}), 4);
  EXPECT_TRUE(near.is_duplicate()) << "the looser bound of the root holds";
  EXPECT_EQ(near.candidates.front().root_seq, 1);
}

TEST_F(MeaningTest, TheRootIsComparedAlsoWhenItHasLeftTheWindow) {
  policy_.window = microseconds(10);
  Tell(Print(1, {100, 0}), 1);
  EXPECT_TRUE(Tell(Print(2, {100, 10}), 2).is_duplicate());
  now_ += microseconds(9);
  window_.Expire(now_ - policy_.window);
  const Judgement judged = Judged(Print(3, {100, 5}), 3);
  EXPECT_TRUE(judged.is_duplicate());
  EXPECT_EQ(judged.candidates.front().seq, 2);
  EXPECT_EQ(judged.candidates.front().root_seq, 1);
}

TEST_F(MeaningTest, TheCalibratedRuleWeighsMeaningWithTheRest) {
  Tell(Print(1, {100, 0, 0}), 1);
  const Fingerprint near = Print(2, {100, 40, 0});
  policy_.rule_mode = RuleMode::kCalibrated;
  const Judgement judged = Judged(near, 2);
  ASSERT_FALSE(judged.candidates.empty()) << "looked at";
  const Scores& scores = judged.candidates.front().scores;
  EXPECT_EQ(judged.is_duplicate(), scores.probability >= policy_.least_probability);
  policy_.least_probability = 0.01;
  EXPECT_TRUE(Judged(near, 2).is_duplicate());
  policy_.least_probability = 1;
  EXPECT_FALSE(Judged(near, 2).is_duplicate());
}

struct Seen {
  int64_t seq = 0;
  int64_t root = 0;
  uint32_t channel = 0;
  Time arrival;
  index::Vector vector;
};

// What is written down, by brute force.
int64_t OriginalOf(const Seen& next, const std::vector<Seen>& seen, const Policy& policy) {
  const Seen* best = nullptr;
  double nearest = 0;
  for (const Seen& each : seen) {
    if (next.arrival - each.arrival > policy.window || each.channel == next.channel) continue;
    const auto semantic = MeaningOf(next.vector, each.vector, &kModel);
    if (!semantic || *semantic < policy.semantic_threshold || *semantic <= nearest) continue;
    const Seen& root = seen[static_cast<size_t>(each.root - 1)];
    const auto to_root = MeaningOf(next.vector, root.vector, &kModel);
    if (root.seq != each.seq && (!to_root || *to_root < 0.7)) continue;
    nearest = *semantic;
    best = &each;
  }
  return best == nullptr ? next.seq : best->root;
}

TEST_F(MeaningTest, DecidesAsEveryPairComparedOneByOneWould) {
  int duplicates = 0;
  for (uint64_t seed = 1; seed <= WorldCount(20) && !HasFailure(); ++seed) {
    std::mt19937_64 random(seed);
    window_ = index::WindowIndex({.segment_span = microseconds(7), .segment_entries = 9});
    seq_ = 0;
    now_ = Time{};
    policy_.window = microseconds(40);
    std::vector<Seen> seen;
    for (int64_t i = 1; i <= 200; ++i) {
      index::Vector vector;
      for (int k = 0; random() % 10 != 0 && k < 4; ++k) {
        vector.push_back(static_cast<int8_t>(random() % 101) - 20);
      }
      if (vector.size() < 4) vector.clear();
      const auto channel = static_cast<uint32_t>(random() % 3);
      Seen next{i, 0, channel, now_ + microseconds(1), vector};
      next.root = OriginalOf(next, seen, policy_);
      const Judgement judged = Tell(Print(static_cast<uint32_t>(i), vector), channel);
      const int64_t root = judged.is_duplicate() ? judged.candidates.front().root_seq : i;
      ASSERT_EQ(root, next.root) << "seed " << seed << ", document " << i;
      duplicates += judged.is_duplicate() ? 1 : 0;
      seen.push_back(std::move(next));
      window_.Expire(now_ - policy_.window);
    }
  }
  EXPECT_GT(duplicates, 100);
}

}  // namespace
}  // namespace winnow::dedup
