#include "services/classification/llm/call_gate.h"

#include <algorithm>

namespace winnow::classification {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBesideProbe{50};  // between looks at another call's probe

}  // namespace

CallGate::Turn CallGate::Ask(Deadline now) {
  const std::lock_guard lock(mutex_);
  if (now < until_) return {Pass::kWait, until_};
  if (broken_ < kOpenAfter) return {Pass::kGo, now};
  if (probing_) return {Pass::kWait, now + kBesideProbe};
  probing_ = true;
  return {Pass::kProbe, now};
}

void CallGate::Succeed(bool probe) {
  const std::lock_guard lock(mutex_);
  if (probe) probing_ = false;
  failures_ = 0;
  broken_ = 0;
  since_.reset();
}

void CallGate::Fail(Deadline now, Failure failure, milliseconds floor, uint64_t random,
                    bool probe) {
  const std::lock_guard lock(mutex_);
  if (probe) probing_ = false;
  if (!since_) since_ = now;
  last_ = failure;
  ++failures_;
  if (failure != Failure::kRateLimit) ++broken_;
  const int doublings = std::min(failures_ - 1, 10);
  const milliseconds span = std::min(kFirstBackoff * (1 << doublings), kLongestBackoff);
  const milliseconds jitter(static_cast<int64_t>(random % static_cast<uint64_t>(span.count())));
  until_ = std::max(until_, now + floor + jitter);
}

void CallGate::GiveBack() {
  const std::lock_guard lock(mutex_);
  probing_ = false;
}

milliseconds CallGate::Silence(Deadline now) const {
  const std::lock_guard lock(mutex_);
  if (!since_) return milliseconds(0);
  return std::chrono::duration_cast<milliseconds>(now - *since_);
}

Failure CallGate::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

bool CallGate::is_open() const {
  const std::lock_guard lock(mutex_);
  return broken_ >= kOpenAfter;
}

}  // namespace winnow::classification
