#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "services/platform/base/clock.h"

namespace winnow::dedup {

// How far the load of a window is. Written by the thread that loads, read by any.
class LoadProgress {
 public:
  void Begin() { Set(0, 0, std::chrono::steady_clock::now()); }
  void Expect(int64_t entries) { expected_ = entries; }
  void Advance(int64_t entries) {
    entries_ += entries;
    advanced_ = std::chrono::steady_clock::now().time_since_epoch().count();
  }
  void End() { Set(0, 0, Deadline()); }

  int64_t entries() const { return entries_; }    // read so far
  int64_t expected() const { return expected_; }  // to read in all; 0: not known yet
  Deadline begun() const { return At(begun_); }
  // When entries were last read, or the load began.
  Deadline advanced() const { return At(advanced_); }

  // An estimate of the time left at the rate so far; none while there is no rate yet.
  std::optional<std::chrono::milliseconds> Remaining(Deadline now) const {
    using std::chrono::milliseconds;
    const int64_t entries = entries_;
    const auto elapsed = std::chrono::duration_cast<milliseconds>(now - begun());
    if (entries == 0 || elapsed < kMinElapsed) return std::nullopt;
    const int64_t left = expected_ > entries ? expected_ - entries : 0;
    return milliseconds(
        static_cast<int64_t>(static_cast<double>(elapsed.count()) * static_cast<double>(left) /
                             static_cast<double>(entries)));
  }

 private:
  // Before, connecting and the first page are most of it.
  static constexpr std::chrono::milliseconds kMinElapsed{250};
  using Ticks = std::atomic<Deadline::rep>;

  static Deadline At(const Ticks& ticks) { return Deadline(Deadline::duration(ticks.load())); }
  void Set(int64_t entries, int64_t expected, Deadline now) {
    entries_ = entries;
    expected_ = expected;
    begun_ = advanced_ = now.time_since_epoch().count();
  }

  std::atomic<int64_t> entries_{0};
  std::atomic<int64_t> expected_{0};
  Ticks begun_{0};
  Ticks advanced_{0};
};

}  // namespace winnow::dedup
