#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include "services/classification/comments/comment_records.h"
#include "services/platform/base/clock.h"

namespace winnow::classification {

// When a model may be called: the one place of the whole port that waits and backs off. All calls
// of a model share it, so that one Retry-After holds them all. After some failures in a row the
// circuit is open: one call at a time tries whether the model is well again, with canaries alone.
// Thread-safe.
class CallGate {
 public:
  static constexpr int kOpenAfter = 5;
  static constexpr std::chrono::milliseconds kFirstBackoff{500};
  static constexpr std::chrono::milliseconds kLongestBackoff{60'000};

  enum class Pass { kGo, kProbe, kWait };
  struct Turn {
    Pass pass = Pass::kGo;
    Deadline until{};  // of a wait
  };
  // kProbe: Succeed or Fail must follow, with probe = true.
  Turn Ask(Deadline now);

  void Succeed(bool probe);
  // `floor`: the server's Retry-After. The wait is the floor and full jitter on top: `random` of a
  // span that doubles with each failure.
  void Fail(Deadline now, Failure failure, std::chrono::milliseconds floor, uint64_t random,
            bool probe);
  // A probe that was not made after all.
  void GiveBack();
  // For how long there has been no success; zero when the last call was one.
  std::chrono::milliseconds Silence(Deadline now) const;
  bool is_open() const;
  // The last failure; kNone before the first.
  Failure last() const;

 private:
  mutable std::mutex mutex_;
  Failure last_ = Failure::kNone;
  int failures_ = 0;  // in a row, of any kind
  int broken_ = 0;    // of these, other than rate limits
  bool probing_ = false;
  Deadline until_{};
  std::optional<Deadline> since_;  // of the first failure after a success
};

}  // namespace winnow::classification
