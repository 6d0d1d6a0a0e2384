#pragma once

#include <atomic>

#include "services/platform/base/clock.h"

namespace winnow::test {

// A clock that stands still until a test moves it. Any thread may read or move it.
class FakeClock final : public Clock {
 public:
  // 2026-02-01T00:00:00Z
  static constexpr Time kStart{std::chrono::sys_days(std::chrono::year(2026) / 2 / 1)};

  explicit FakeClock(Time now = kStart) : now_(now.time_since_epoch().count()) {}
  Time Now() const override { return Time(Micros(now_.load())); }
  void Set(Time now) { now_.store(now.time_since_epoch().count()); }
  void Advance(Micros by) { now_.fetch_add(by.count()); }

 private:
  std::atomic<int64_t> now_;
};

}  // namespace winnow::test
