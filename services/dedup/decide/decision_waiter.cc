#include "services/dedup/decide/decision_waiter.h"

#include <utility>

namespace winnow::dedup {
namespace {

// Few enough for the worker to begin early, enough for a transaction to be worth its commit.
constexpr size_t kAtOnce = 128;

}  // namespace

DecisionWaiter::~DecisionWaiter() { Wait(); }

void DecisionWaiter::Wait() {
  std::unique_lock lock(mutex_);
  came_.wait(lock, [this] { return open_ == 0; });
}

void DecisionWaiter::Add(DecisionJob job) {
  job.done = [this, place = added_](StatusOr<Decision> decision) {
    std::unique_lock lock(mutex_);
    decisions_[place] = std::move(decision);
    if (--open_ == 0 || place == wanted_) came_.notify_one();
    const std::function<void()> ready = TakeReady();
    lock.unlock();
    if (ready) ready();
  };
  ++added_;
  next_.push_back(std::move(job));
  if (next_.size() == kAtOnce) Submit();
}

void DecisionWaiter::Submit() {
  if (next_.empty()) return;
  {
    std::lock_guard lock(mutex_);
    open_ += next_.size();
    decisions_.resize(added_);
  }
  worker_.Submit(std::exchange(next_, {}));
}

void DecisionWaiter::Close() {
  Submit();
  std::unique_lock lock(mutex_);
  closed_ = true;
  const std::function<void()> ready = TakeReady();
  lock.unlock();
  if (ready) ready();
}

std::function<void()> DecisionWaiter::TakeReady() {
  return closed_ && open_ == 0 ? std::exchange(ready_, {}) : std::function<void()>();
}

StatusOr<Decision> DecisionWaiter::Take(size_t place) {
  Submit();
  std::unique_lock lock(mutex_);
  wanted_ = place;
  came_.wait(lock, [&] { return decisions_[place].has_value(); });
  return *std::move(decisions_[place]);
}

}  // namespace winnow::dedup
