#include "services/dedup/index/bounds.h"

#include <gtest/gtest.h>

#include "services/dedup/index/overlap.h"

namespace winnow::dedup::index {
namespace {

TEST(Bounds, LeastOverlapIsTheFirstThatReachesTheThreshold) {
  for (const double threshold : {0.05, 0.3, 1.0 / 3, 0.5, 0.55, 0.7, 0.8, 0.85, 0.9, 1.0}) {
    const Bounds bounds(threshold);
    for (uint32_t n = 1; n < 140; n += n < 40 ? 1 : 9) {
      for (uint32_t m = 1; m < 140; m += m < 40 ? 1 : 7) {
        const uint32_t least = bounds.LeastOverlap(n, m);
        const uint32_t most = std::min(n, m);
        if (least <= most) {
          EXPECT_GE(Jaccard(least, n, m), threshold);
        }
        if (least > 0) {
          EXPECT_LT(Jaccard(least - 1, n, m), threshold);
        }
        if (least > most) {
          EXPECT_LT(Jaccard(most, n, m), threshold);
        }
      }
    }
  }
}

TEST(Bounds, ADecimalThresholdIsReachedByItsOwnFraction) {
  EXPECT_EQ(Bounds(0.8).LeastOverlap(4, 5), 4U);
  EXPECT_EQ(Bounds(0.8).LeastOverlap(12, 15), 12U);
  EXPECT_EQ(Bounds(0.55).LeastOverlap(20, 11), 11U);
  EXPECT_EQ(Bounds(0.7).LeastOverlap(10, 7), 7U);
}

TEST(Bounds, ThePrefixLeavesTooLittleToReachTheThreshold) {
  for (const double threshold : {0.05, 0.3, 0.5, 0.55, 0.7, 0.8, 0.85, 1.0}) {
    const Bounds bounds(threshold);
    for (uint32_t n = 1; n < 400; ++n) {
      const uint32_t prefix = bounds.PrefixLength(n);
      ASSERT_GE(prefix, 1U);
      ASSERT_LE(prefix, n);
      // A partner with nothing of the prefix shares at most what is left.
      for (uint32_t m = 1; m < 400; m += 3) {
        ASSERT_LT(Jaccard(std::min(n - prefix, m), n, m), threshold) << n << " " << m;
      }
    }
  }
}

TEST(Bounds, AnEmptySetHasNoPrefixAndNoSimilarity) {
  EXPECT_EQ(Bounds(0.5).PrefixLength(0), 0U);
  EXPECT_EQ(Jaccard(0, 0, 0), 0.0);
}

TEST(Overlap, CountsWhatTwoSetsShare) {
  const std::vector<Token> a = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 4294967295U};
  const std::vector<Token> b = {2, 3, 4, 7, 8, 11, 12, 15, 16, 19, 20, 21, 4294967295U};
  EXPECT_EQ(Overlap(a, b), 6U);
  EXPECT_EQ(Overlap(b, a), 6U);
  EXPECT_EQ(Overlap(a, a), 11U);
  EXPECT_EQ(Overlap(a, {}), 0U);
}

TEST(Overlap, SaysZeroWhereTheNeedCannotBeMet) {
  std::vector<Token> low(40);
  std::vector<Token> high(40);
  for (Token i = 0; i < 40; ++i) {
    low[i] = i;
    high[i] = i + 20;
  }
  EXPECT_EQ(OverlapAtLeast(low, high, 20), 20U);
  EXPECT_EQ(OverlapAtLeast(low, high, 21), 0U);
  EXPECT_EQ(OverlapAtLeast(low, low, 40), 40U);
}

}  // namespace
}  // namespace winnow::dedup::index
