#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>

namespace winnow::newsfeed {

// How many articles a log transaction takes, so that it holds the lock for about 10 ms on this
// machine. Where its statements wait for each other's turn however few the articles are, it takes
// as many as take that long again: fewer would hold the lock little shorter, and far more often.
class LogBatch {
 public:
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  // From any thread.
  void Learn(size_t articles, std::chrono::steady_clock::duration held);

 private:
  double Wanted(double articles, double held);

  std::atomic<size_t> size_ = 200;
  std::mutex mutex_;
  // Decayed sums over transactions, of articles (n) and milliseconds held (t).
  double count_ = 0, n_ = 0, t_ = 0, nn_ = 0, nt_ = 0;
};

}  // namespace winnow::newsfeed
