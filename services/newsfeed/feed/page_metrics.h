#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "services/newsfeed/feed/page_counts.h"
#include "services/platform/process/metrics.h"

namespace winnow::newsfeed {

// winnow_newsfeed_pages_total{tier}, winnow_newsfeed_degraded_pages_total{reason}.
class PageMetrics {
 public:
  explicit PageMetrics(Metrics& metrics);
  // A page of so many articles from memory, of so many in all.
  void Count(size_t from_memory, size_t articles, bool of_memory);
  // Of a page that was answered although the store is away.
  void CountDegraded(bool behind, bool cut);
  PageCounts counts() const { return {memory_, spliced_, store_}; }

 private:
  Counter& memory_total_;
  Counter& spliced_total_;
  Counter& store_total_;
  Counter& behind_total_;
  Counter& cut_total_;
  std::atomic<int64_t> memory_ = 0;
  std::atomic<int64_t> spliced_ = 0;
  std::atomic<int64_t> store_ = 0;
};

}  // namespace winnow::newsfeed
