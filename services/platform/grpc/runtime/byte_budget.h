#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace winnow::rpc {

// Bytes that the queues of many streams may hold together. None takes all: a queue may grow as long
// as it holds at most a quarter of what is free, so that those who keep up find room however many
// fall behind.
class ByteBudget {
 public:
  explicit ByteBudget(size_t limit) : limit_(limit) {}

  // Whether a queue that holds `held` may take `more`. An empty one always may, or its stream would
  // stand still.
  bool Fits(size_t held, size_t more) const {
    return held == 0 || held + more <= (limit_ - std::min(limit_, used())) / 4;
  }
  void Take(size_t bytes) { used_.fetch_add(bytes, std::memory_order_relaxed); }
  void GiveBack(size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  size_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  const size_t limit_;
  std::atomic<size_t> used_ = 0;
};

}  // namespace winnow::rpc
