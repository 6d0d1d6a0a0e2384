#include "services/collector/quota/quota.h"

#include <algorithm>

namespace winnow::collector {
namespace {

using std::chrono::duration_cast;

constexpr std::chrono::hours kDay{24};

Micros WindowOf(const QuotaLimits& limits) {
  return limits.per_quarter > 0 ? Micros(kQuarterWindow) : Micros(kSecondWindow);
}

// Calls from after now were made by a clock that ran ahead: they count as made now.
void Tidy(QuotaState& state, const QuotaLimits& limits, const ClockWord& clock) {
  for (Time& call : state.recent) call = clock.moved ? clock.now : std::min(call, clock.now);
  const auto old = std::find_if(state.recent.begin(), state.recent.end(),
                                [&](Time call) { return call > clock.now - WindowOf(limits); });
  state.recent.erase(state.recent.begin(), old);
  const Time begin = DayBegin(limits, clock.now - kResetGuard);
  if (begin > state.day_begin) {
    state.day_begin = begin;
    state.day_used = clock.doubtful_calls;
  }
}

// When the window has room for one more; `now` when it has.
Time RoomIn(const QuotaState& state, int64_t limit, Micros window, Time now) {
  const auto size = static_cast<int64_t>(state.recent.size());
  if (limit <= 0 || size < limit) return now;
  const Time oldest = state.recent[static_cast<size_t>(size - limit)];
  return std::max(now, oldest + window);
}

}  // namespace

Time DayBegin(const QuotaLimits& limits, Time now) {
  const auto since = std::chrono::floor<std::chrono::days>(now - limits.reset);
  return Time(since.time_since_epoch()) + limits.reset;
}

Time NextReset(const QuotaLimits& limits, Time now) { return DayBegin(limits, now) + kDay; }

Grant Reserve(QuotaState& state, const QuotaLimits& limits, const ClockWord& clock) {
  const Time now = clock.now;
  Tidy(state, limits, clock);
  if (now < state.blocked_until) return {false, state.blocked_until, state.blocked_by};
  const Time reset = NextReset(limits, now);
  if (limits.per_day > 0) {
    // The day that is counted may be ahead of now, after a clock was set back.
    const Time counted_until = std::max(reset, state.day_begin + kDay) + kResetGuard;
    if (state.day_used >= limits.per_day) return {false, counted_until, Outcome::kQuotaDay};
    if (now >= reset - kResetGuard) return {false, reset + kResetGuard, Outcome::kRate};
    if (now < DayBegin(limits, now) + kResetGuard) {
      return {false, DayBegin(limits, now) + kResetGuard, Outcome::kRate};
    }
  }
  const Time room = std::max(RoomIn(state, limits.per_second, kSecondWindow, now),
                             RoomIn(state, limits.per_quarter, kQuarterWindow, now));
  if (room > now) return {false, room, Outcome::kRate};
  state.recent.push_back(now);
  ++state.day_used;
  return {true, {}, Outcome::kNone};
}

int64_t DayLeft(const QuotaState& state, const QuotaLimits& limits, Time now) {
  if (limits.per_day <= 0) return 0;
  if (now < state.blocked_until && state.blocked_by == Outcome::kQuotaDay) return 0;
  const bool over = DayBegin(limits, now - kResetGuard) > state.day_begin;
  return over ? limits.per_day : std::max<int64_t>(0, limits.per_day - state.day_used);
}

void Correct(QuotaState& state, const QuotaLimits& limits, const VendorCount& count, Time now) {
  if (count.day_left && limits.per_day > 0) {
    const int64_t used = limits.per_day - std::clamp<int64_t>(*count.day_left, 0, limits.per_day);
    state.day_used = std::max(state.day_used, used);
  }
  if (count.quarter_left && limits.per_quarter > 0) {
    const int64_t used =
        limits.per_quarter - std::clamp<int64_t>(*count.quarter_left, 0, limits.per_quarter);
    while (static_cast<int64_t>(state.recent.size()) < used) state.recent.push_back(now);
  }
}

void BlockUntilReset(QuotaState& state, const QuotaLimits& limits, Time now) {
  BlockUntil(state, NextReset(limits, now) + kResetGuard, Outcome::kQuotaDay);
}

void BlockUntil(QuotaState& state, Time until, Outcome why) {
  if (until <= state.blocked_until) return;
  state.blocked_until = until;
  state.blocked_by = why;
}

}  // namespace winnow::collector
