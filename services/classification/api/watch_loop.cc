#include "services/classification/api/watch_loop.h"

#include <algorithm>
#include <iterator>

namespace winnow::classification {

void WatchLoop::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void WatchLoop::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(mutex_);
  added_.clear();
}

void WatchLoop::Add(Step step) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    added_.push_back(std::move(step));
  }
  changed_.notify_all();
}

void WatchLoop::Loop() {
  std::vector<Step> steps;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      const auto woken = [this] { return stopping_ || !added_.empty(); };
      if (steps.empty()) {
        changed_.wait(lock, woken);
      } else {
        changed_.wait_for(lock, poll_, woken);
      }
      if (stopping_) return;
      std::move(added_.begin(), added_.end(), std::back_inserter(steps));
      added_.clear();
    }
    std::erase_if(steps, [](Step& step) { return !step(); });
  }
}

}  // namespace winnow::classification
