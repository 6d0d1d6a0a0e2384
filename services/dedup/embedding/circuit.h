#pragma once

#include <algorithm>
#include <chrono>

#include "services/platform/base/clock.h"

namespace winnow::dedup {

// Keeps calls from a server that fails: after some failures in a row none is let through for a
// while, then one to try it. Each failed try doubles the while. Not thread-safe.
class Circuit {
 public:
  static constexpr int kFailures = 3;
  static constexpr std::chrono::seconds kFirstPause{1};
  static constexpr std::chrono::seconds kLongestPause{30};

  bool is_open() const { return failures_ >= kFailures; }
  // Not before then; while it is open.
  Deadline next_try() const { return next_try_; }

  // Whether a call may be made at `now`; if so, Succeed or Fail has to follow.
  bool TryBegin(Deadline now) {
    if (!is_open()) return true;
    if (is_trying_ || now < next_try_) return false;
    is_trying_ = true;
    return true;
  }
  void Succeed() { *this = Circuit(); }
  void Fail(Deadline now) {
    is_trying_ = false;
    ++failures_;
    if (!is_open()) return;
    next_try_ = now + pause_;
    pause_ = std::min(pause_ * 2, kLongestPause);
  }

 private:
  int failures_ = 0;
  bool is_trying_ = false;
  std::chrono::seconds pause_ = kFirstPause;
  Deadline next_try_{};
};

}  // namespace winnow::dedup
