#include "services/newsfeed/feed/page_metrics.h"

namespace winnow::newsfeed {
namespace {

Counter& Pages(Metrics& metrics, const char* tier) {
  return metrics.GetCounter("winnow_newsfeed_pages_total", "Pages of feeds, by who served them.",
                            {{"tier", tier}});
}

Counter& Degraded(Metrics& metrics, const char* reason) {
  return metrics.GetCounter("winnow_newsfeed_degraded_pages_total",
                            "Feed pages served while the store was unavailable.",
                            {{"reason", reason}});
}

}  // namespace

PageMetrics::PageMetrics(Metrics& metrics)
    : memory_total_(Pages(metrics, "memory")),
      spliced_total_(Pages(metrics, "spliced")),
      store_total_(Pages(metrics, "store")),
      behind_total_(Degraded(metrics, "memory_behind")),
      cut_total_(Degraded(metrics, "page_cut")) {}

void PageMetrics::CountDegraded(bool behind, bool cut) {
  if (behind) behind_total_.Increment();
  if (cut) cut_total_.Increment();
}

void PageMetrics::Count(size_t from_memory, size_t articles, bool of_memory) {
  const bool whole = of_memory && from_memory == articles;
  const bool part = of_memory && from_memory > 0;
  (whole ? memory_ : part ? spliced_ : store_).fetch_add(1, std::memory_order_relaxed);
  (whole ? memory_total_ : part ? spliced_total_ : store_total_).Increment();
}

}  // namespace winnow::newsfeed
