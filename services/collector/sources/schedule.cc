#include "services/collector/sources/schedule.h"

#include <algorithm>

namespace winnow::collector {
namespace {

using std::chrono::seconds;

constexpr seconds kMaxBackoff = std::chrono::hours(6);
constexpr int kMaxDoublings = 12;

bool IsFailure(Outcome outcome) {
  return outcome != Outcome::kOk && outcome != Outcome::kPartial && outcome != Outcome::kQuotaDay &&
         outcome != Outcome::kRate;
}

seconds Adapted(const Source& source, int64_t new_items) {
  const seconds now = std::clamp(source.current_interval, source.interval, source.max_interval);
  const seconds next = new_items > 0 ? now * 2 / 3 : now * 3 / 2;
  return std::clamp(next, source.interval, source.max_interval);
}

}  // namespace

NextRun PlanNext(const Source& source, const RunResult& result) {
  NextRun next;
  next.interval = std::max(source.current_interval, source.interval);
  if (result.permanent) {
    next.blocked = true;
    next.failures = source.failures + 1;
    next.wait = next.interval;
    return next;
  }
  if (IsFailure(result.outcome)) {
    next.failures = source.failures + 1;
    const int doublings = std::min(next.failures - 1, kMaxDoublings);
    next.wait = std::max(next.interval, std::min(kMaxBackoff, next.interval * (1 << doublings)));
  } else {
    const bool asked = result.outcome == Outcome::kOk || result.outcome == Outcome::kPartial;
    if (asked && source.max_interval > source.interval) {
      next.interval = Adapted(source, result.new_items);
    }
    next.wait = next.interval;
  }
  // Nothing is gained before the quota is back; then it is this source's turn.
  if (result.wait > seconds(0)) next.wait = result.wait;
  return next;
}

}  // namespace winnow::collector
