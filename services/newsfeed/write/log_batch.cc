#include "services/newsfeed/write/log_batch.h"

#include <algorithm>

namespace winnow::newsfeed {
namespace {

constexpr double kHeld = 10;  // ms
constexpr double kLeast = 50;
constexpr double kMost = 500;
constexpr double kStep = 0.25;    // of the size, at once
constexpr double kDecay = 0.95;   // the last 20 transactions count most
constexpr double kAlike = 0.001;  // relative variance of sizes that is not informative

}  // namespace

void LogBatch::Learn(size_t articles, std::chrono::steady_clock::duration held) {
  const std::lock_guard lock(mutex_);
  const double wanted = Wanted(static_cast<double>(articles),
                               std::chrono::duration<double, std::milli>(held).count());
  const auto now = static_cast<double>(size());
  // Fewer articles than it may take do not show that it may take more.
  const double most = static_cast<double>(articles) < now ? now : now * (1 + kStep);
  const double next = std::clamp(wanted, now * (1 - kStep), most);
  size_ = static_cast<size_t>(std::clamp(next, kLeast, kMost));
}

// By the line of least squares through the last transactions: time = fixed + each * articles.
double LogBatch::Wanted(double articles, double held) {
  count_ = count_ * kDecay + 1;
  n_ = n_ * kDecay + articles;
  t_ = t_ * kDecay + held;
  nn_ = nn_ * kDecay + articles * articles;
  nt_ = nt_ * kDecay + articles * held;
  const double mean_n = n_ / count_;
  const double mean_t = t_ / count_;
  const double variance = nn_ / count_ - mean_n * mean_n;
  const double most = mean_t / mean_n;  // an article's part, were nothing fixed
  if (most <= 0) return kMost;
  if (variance < kAlike * mean_n * mean_n) {
    // They determine the sum alone; another size is needed.
    return articles > kLeast ? kHeld / most : kMost;
  }
  const double each = std::clamp((nt_ / count_ - mean_n * mean_t) / variance, most / 100, most);
  const double fixed = mean_t - each * mean_n;
  return std::max(kHeld - fixed, fixed) / each;
}

}  // namespace winnow::newsfeed
