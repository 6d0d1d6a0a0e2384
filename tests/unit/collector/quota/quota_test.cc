#include "services/collector/quota/quota.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <iostream>
#include <random>

#include "services/collector/quota/ledger_clock.h"

namespace winnow::collector {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const Time kStart{std::chrono::sys_days(std::chrono::year(2026) / 2 / 1)};
constexpr QuotaLimits kNaver{
    .per_second = 10, .per_quarter = 0, .per_day = 25'000, .reset = hours(-9)};
constexpr QuotaLimits kNewsData{
    .per_second = 1, .per_quarter = 30, .per_day = 200, .reset = seconds(0)};

TEST(Quota, TheDayBeginsAtTheVendorsReset) {
  EXPECT_EQ(DayBegin(kNaver, kStart), kStart - hours(9));
  EXPECT_EQ(DayBegin(kNaver, kStart + hours(15)), kStart + hours(15));
  EXPECT_EQ(NextReset(kNaver, kStart), kStart + hours(15));
}

TEST(Quota, ThirtyCallsInAQuarterAndNotOneMore) {
  QuotaState state;
  Time now = kStart + hours(1);
  for (int i = 0; i < 30; ++i, now += seconds(2))
    ASSERT_TRUE(Reserve(state, kNewsData, {now}).granted);
  const Grant refused = Reserve(state, kNewsData, {now});
  EXPECT_FALSE(refused.granted);
  EXPECT_EQ(refused.why, Outcome::kRate);
  EXPECT_EQ(refused.retry_at, kStart + hours(1) + minutes(15));
  EXPECT_TRUE(Reserve(state, kNewsData, {refused.retry_at}).granted);
}

TEST(Quota, TheVendorsCountTightensTheLedger) {
  QuotaState state;
  ASSERT_TRUE(Reserve(state, kNewsData, {kStart + hours(1)}).granted);
  Correct(state, kNewsData, {.quarter_left = 0, .day_left = 150}, kStart + hours(1));
  EXPECT_EQ(DayLeft(state, kNewsData, kStart + hours(1)), 150);
  EXPECT_EQ(Reserve(state, kNewsData, {kStart + hours(1) + minutes(14)}).why, Outcome::kRate);
  EXPECT_TRUE(Reserve(state, kNewsData, {kStart + hours(1) + minutes(15)}).granted);
  Correct(state, kNewsData, {.quarter_left = 30, .day_left = 200}, kStart + hours(2));
  EXPECT_EQ(DayLeft(state, kNewsData, kStart + hours(2)), 149);
}

TEST(Quota, NobodyCallsAfterTheDayIsUsedUpUntilTheReset) {
  QuotaState state;
  BlockUntilReset(state, kNaver, kStart);
  for (Time now = kStart; now < kStart + hours(15) + kResetGuard; now += minutes(1)) {
    const Grant grant = Reserve(state, kNaver, {now});
    ASSERT_FALSE(grant.granted);
    ASSERT_EQ(grant.why, Outcome::kQuotaDay);
  }
  EXPECT_TRUE(Reserve(state, kNaver, {kStart + hours(15) + kResetGuard}).granted);
}

TEST(Quota, AClockThatIsSetBackMakesCallsWait) {
  QuotaState state;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Reserve(state, kNaver, {kStart + hours(3)}).granted);
  EXPECT_FALSE(Reserve(state, kNaver, {kStart}).granted);
  EXPECT_TRUE(Reserve(state, kNaver, {kStart + kSecondWindow}).granted);
}

TEST(Quota, TheLedgersClockFollowsTheVendors) {
  LedgerClock clock;
  const Deadline begin;
  clock.Anchor(kStart + hours(5), kStart, begin);  // our own clock jumped ahead
  EXPECT_EQ(clock.At(begin + seconds(10)), kStart + seconds(10));
  clock.Follow(kStart + seconds(11), begin + seconds(10));
  EXPECT_EQ(clock.At(begin + seconds(10)), kStart + seconds(10));
  clock.Follow(kStart + minutes(1), begin + seconds(10));
  EXPECT_EQ(clock.At(begin + seconds(11)), kStart + minutes(1) + seconds(1));
}

// A vendor that counts by its own clock, in the strictest reading of its rules.
class Vendor {
 public:
  explicit Vendor(QuotaLimits limits) : limits_(limits) {}

  bool Call(Time now) {
    if (DayBegin(limits_, now) != day_) {
      EndDay();
      day_ = DayBegin(limits_, now);
    }
    if (told_) ++calls_after_end_;
    told_ = spent_;
    Check(second_, limits_.per_second, seconds(1), now);
    Check(quarter_, limits_.per_quarter, minutes(15), now);
    if (++used_ > limits_.per_day) ++over_;
    ++calls_;
    return !spent_;
  }
  // Another program with the same key used up the day.
  void Spend() { spent_ = true; }
  void EndDay() {
    if (used_ > 0 && !spent_) full_days_.push_back(used_);
    used_ = 0;
    spent_ = false;
    told_ = false;
  }

  int64_t over_ = 0;
  int64_t calls_ = 0;
  int64_t calls_after_end_ = 0;
  std::vector<int64_t> full_days_;

 private:
  void Check(std::deque<Time>& window, int64_t limit, Micros length, Time now) {
    if (limit == 0) return;
    while (!window.empty() && window.front() <= now - length) window.pop_front();
    window.push_back(now);
    if (static_cast<int64_t>(window.size()) > limit) ++over_;
  }

  const QuotaLimits limits_;
  Time day_{};
  int64_t used_ = 0;
  bool spent_ = false;
  bool told_ = false;
  std::deque<Time> second_, quarter_;
};

// Seven days of three replicas, of which one calls at a time. Each has a clock of its own that
// jumps; the store's is right, as in the other half of the runs a replica's is and the store's
// jumps. The next process knows nothing but the ledger.
class Week {
 public:
  Week(QuotaLimits limits, uint64_t seed) : limits_(limits), vendor(limits), random_(seed) {
    store_jumps_ = seed % 2 == 1;
    TakeOver();
  }

  void Run(Micros pace) {
    const Time end = now_ + hours(24 * 7);
    const Time other_program = now_ + hours(75);
    while (now_ < end) {
      if (random_() % 2'000 == 0) JumpAndTakeOver();
      if (now_ >= repair_) RepairClocks();
      const Time before = now_;
      TryToCall();
      Pass(Micros(static_cast<int64_t>(random_() % static_cast<uint64_t>(2 * pace.count()))));
      if (before < other_program && now_ >= other_program) vendor.Spend();
    }
    vendor.EndDay();
  }

  const QuotaLimits limits_;
  Vendor vendor;

 private:
  void Pass(Micros time) {
    now_ += time;
    steady_ += std::chrono::duration_cast<Deadline::duration>(time);
  }
  Micros Jump() { return minutes(static_cast<int64_t>(random_() % 4'000) - 2'000); }
  void JumpAndTakeOver() {
    repair_ = now_ + minutes(static_cast<int64_t>(random_() % 30));
    if (store_jumps_) {
      store_skew_ = Jump();
    } else {
      skews_[random_() % skews_.size()] = Jump();
    }
    TakeOver();
  }
  // What is off is put right after a while, and the leader sees it when it next looks.
  void RepairClocks() {
    skews_ = {};
    store_skew_ = Micros(0);
    clock_.Observe(now_, now_, steady_);
  }
  void TakeOver() {
    const size_t leader = random_() % skews_.size();
    clock_.Anchor(now_ + skews_[leader], now_ + store_skew_, steady_);
  }
  void TryToCall() {
    const bool granted = Reserve(state_, limits_, clock_.Read(steady_)).granted;
    clock_.Granted(granted);
    if (!granted) return;
    const bool answered = vendor.Call(now_);
    clock_.Follow(std::chrono::floor<seconds>(now_), steady_);
    if (!answered) BlockUntilReset(state_, limits_, clock_.At(steady_));
  }

  std::mt19937_64 random_;
  bool store_jumps_ = false;
  Time now_ = kStart + hours(3);
  Deadline steady_{};
  std::array<Micros, 3> skews_{};
  Micros store_skew_{0};
  Time repair_ = Time::max();
  LedgerClock clock_;
  QuotaState state_;
};

void ExpectWithinQuota(QuotaLimits limits, Micros pace) {
  int64_t least = limits.per_day;  // calls of a whole day
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Week week(limits, seed);
    week.Run(pace);
    EXPECT_EQ(week.vendor.over_, 0) << "seed " << seed;
    EXPECT_EQ(week.vendor.calls_after_end_, 0) << "seed " << seed;
    ASSERT_GE(week.vendor.full_days_.size(), 4U) << "seed " << seed;
    // The first and the last are not whole days.
    for (size_t i = 1; i + 1 < week.vendor.full_days_.size(); ++i) {
      EXPECT_GE(week.vendor.full_days_[i] * 100, limits.per_day * 95) << "seed " << seed;
      least = std::min(least, week.vendor.full_days_[i]);
    }
  }
  std::cout << "6 weeks of 3 replicas with clock jumps: 0 calls beyond a quota, 0 after the day's "
            << "end was reported; whole days used at least " << least << " of " << limits.per_day
            << '\n';
}

TEST(QuotaOverAWeek, NewsDataIsUsedAndNeverExceeded) { ExpectWithinQuota(kNewsData, seconds(20)); }
TEST(QuotaOverAWeek, NaverIsUsedAndNeverExceeded) {
  ExpectWithinQuota(kNaver, milliseconds(1'500));
}

}  // namespace
}  // namespace winnow::collector
