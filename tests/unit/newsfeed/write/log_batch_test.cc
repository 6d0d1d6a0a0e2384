#include "services/newsfeed/write/log_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

namespace winnow::newsfeed {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;

// A machine on which a transaction takes `fixed` ms and `each` for an article, give or take a
// fifth; batches of 1,000 go to it in parts.
class Machine {
 public:
  Machine(double fixed, double each) : fixed_(fixed), each_(each) {}

  // Sizes of the last transactions of `batches`, their median.
  size_t Run(LogBatch& batch, int batches) {
    std::vector<size_t> sizes;
    for (int i = 0; i < batches; ++i) {
      for (size_t rest = 1'000; rest > 0;) {
        const size_t part = std::min(rest, batch.size());
        if (i >= batches / 2) sizes.push_back(batch.size());
        const double ms = (fixed_ + each_ * static_cast<double>(part)) * noise_(random_);
        batch.Learn(part, std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                              std::chrono::duration<double, std::milli>(ms)));
        rest -= part;
      }
    }
    std::nth_element(sizes.begin(), sizes.begin() + static_cast<long>(sizes.size() / 2),
                     sizes.end());
    return sizes[sizes.size() / 2];
  }

 private:
  const double fixed_;
  const double each_;
  std::mt19937 random_{7};
  std::uniform_real_distribution<double> noise_{0.8, 1.2};
};

TEST(LogBatch, HoldsTheLockForAboutTenMilliseconds) {
  LogBatch batch;
  EXPECT_THAT(Machine(2, 0.05).Run(batch, 200), AllOf(Ge(110), Le(230)));
}

TEST(LogBatch, TakesAllThatFitsOnAFastMachine) {
  LogBatch batch;
  EXPECT_THAT(Machine(0.5, 0.01).Run(batch, 200), Ge(400));
}

TEST(LogBatch, TakesFewWhereEachIsSlow) {
  LogBatch batch;
  EXPECT_THAT(Machine(1, 0.5).Run(batch, 200), Le(75));
}

// Smaller ones made such a machine slower still: 300 articles a second, each transaction waiting
// 170 ms for its statements' turns.
TEST(LogBatch, DoesNotShrinkWhereStatementsWaitHoweverFewTheArticles) {
  LogBatch batch;
  EXPECT_THAT(Machine(150, 0.3).Run(batch, 200), Ge(250));
}

TEST(LogBatch, DoesNotGrowByWhatWasNotTried) {
  LogBatch batch;
  const size_t before = batch.size();
  for (int i = 0; i < 1'000; ++i) batch.Learn(1, std::chrono::milliseconds(2));
  EXPECT_LE(batch.size(), before);
}

TEST(LogBatch, FollowsTheMachine) {
  LogBatch batch;
  Machine(1, 0.5).Run(batch, 100);
  EXPECT_THAT(Machine(150, 0.3).Run(batch, 200), Ge(250));
  EXPECT_THAT(Machine(2, 0.05).Run(batch, 200), AllOf(Ge(110), Le(230)));
}

}  // namespace
}  // namespace winnow::newsfeed
