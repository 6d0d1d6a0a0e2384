#pragma once

#include <atomic>
#include <cstdint>

namespace winnow::newsfeed {

// The last position of the feeds' log that this process has committed. Any thread.
class CommitPosition {
 public:
  int64_t Get() const { return position_.load(std::memory_order_relaxed); }
  void Raise(int64_t position) {
    int64_t last = Get();
    while (last < position && !position_.compare_exchange_weak(last, position)) {
    }
  }

 private:
  std::atomic<int64_t> position_ = 0;
};

}  // namespace winnow::newsfeed
