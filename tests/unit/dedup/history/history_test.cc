#include "services/dedup/history/history.h"

#include <gtest/gtest.h>

#include "services/dedup/judge/spread.h"
#include "services/dedup/log/review.h"

namespace winnow::dedup {
namespace {

Decision NewDecision(Verdict verdict, Stage stage, double similarity) {
  Decision decision;
  decision.ns = "default";
  decision.verdict = verdict;
  decision.stage = stage;
  decision.similarity = similarity;
  return decision;
}

TEST(Review, WhatIsBeyondDoubtIsNotAskedAbout) {
  EXPECT_FALSE(ReviewKindOf(NewDecision(Verdict::kUnique, Stage::kNone, 0)));
  EXPECT_FALSE(ReviewKindOf(NewDecision(Verdict::kDuplicate, Stage::kUrl, 1)));
  EXPECT_FALSE(ReviewKindOf(NewDecision(Verdict::kDuplicate, Stage::kExact, 1)));
  EXPECT_EQ(ReviewKindOf(NewDecision(Verdict::kDuplicate, Stage::kToken, 0.85)),
            ReviewKind::kDuplicate);
  Decision near = NewDecision(Verdict::kUnique, Stage::kNone, 0);
  near.candidates.push_back({});
  near.candidates[0].scores.jaccard = 0.6;
  EXPECT_EQ(ReviewKindOf(near), ReviewKind::kUnique);
  EXPECT_EQ(NearestOf(near), 0.6);
}

TEST(Review, ASampleIsOfTheShareAskedForAndAlwaysTheSame) {
  Decision decision = NewDecision(Verdict::kUnique, Stage::kNone, 0);
  int drawn = 0;
  for (int i = 0; i < 10'000; ++i) {
    decision.document_id = std::to_string(i);
    drawn += IsDrawn(decision, 0.05) ? 1 : 0;
    EXPECT_EQ(IsDrawn(decision, 0.05), IsDrawn(decision, 0.05));
    EXPECT_TRUE(IsDrawn(decision, 1));
    EXPECT_FALSE(IsDrawn(decision, 0));
  }
  EXPECT_GT(drawn, 400);
  EXPECT_LT(drawn, 600);
}

TEST(ErrorEstimate, CountsOtherDecisionsAsRight) {
  const Rate rate = EstimateOf({.decisions = 100, .reviewed = 20, .wrong = 2, .all = 400});
  EXPECT_DOUBLE_EQ(rate.value, 0.1 * 0.25);
  EXPECT_NEAR(rate.low, 0.0279 * 0.25, 1e-4);
  EXPECT_NEAR(rate.high, 0.3010 * 0.25, 1e-4);
}

TEST(ErrorEstimate, WithoutReviewsAnythingIsPossible) {
  const Rate unknown = EstimateOf({.decisions = 100, .reviewed = 0, .wrong = 0, .all = 400});
  EXPECT_EQ(unknown.low, 0);
  EXPECT_EQ(unknown.high, 1);
  const Rate beyond_doubt = EstimateOf({.decisions = 0, .reviewed = 0, .wrong = 0, .all = 400});
  EXPECT_EQ(beyond_doubt.high, 0);
  const Rate right = EstimateOf({.decisions = 10, .reviewed = 10, .wrong = 0, .all = 10});
  EXPECT_EQ(right.value, 0);
  EXPECT_GT(right.high, 0.2) << "ten right ones prove little";
}

TEST(Spread, IsToldOnceWhenTheNumberOfChannelsIsReached) {
  Spread spread(3);
  spread.Know("a", {"one"});
  EXPECT_EQ(spread.Report("a", "one"), 0);
  EXPECT_EQ(spread.Report("a", "two"), 0);
  EXPECT_EQ(spread.Report("a", "two"), 0);
  EXPECT_EQ(spread.Report("a", "three"), 3);
  EXPECT_EQ(spread.Report("a", "three"), 0);
  EXPECT_EQ(spread.Report("a", "four"), 0);
  spread.Know("b", {"one", "two", "three"});
  EXPECT_EQ(spread.Report("b", "four"), 0) << "it was reached before";
}

}  // namespace
}  // namespace winnow::dedup
