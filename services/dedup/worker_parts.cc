#include "services/dedup/worker_parts.h"

namespace winnow::dedup {
namespace {

Counter& DecisionsBy(Metrics& metrics, const char* verdict, const char* stage) {
  return metrics.GetCounter("winnow_dedup_decisions_total", "Documents decided and stored.",
                            {{"verdict", verdict}, {"stage", stage}});
}

}  // namespace

WorkerMetrics::WorkerMetrics(Metrics& metrics)
    : unique(DecisionsBy(metrics, "unique", "none")),
      by_url(DecisionsBy(metrics, "duplicate", "url")),
      by_title(DecisionsBy(metrics, "duplicate", "exact")),
      by_tokens(DecisionsBy(metrics, "duplicate", "token")),
      store_fallbacks(metrics.GetCounter("winnow_dedup_fallback_total",
                                         "Documents let through without a full decision.",
                                         {{"level", "store"}})),
      shortened(metrics.GetCounter("winnow_dedup_window_shortened_total",
                                   "Parts of windows forgotten early, to keep within memory.")),
      batch_seconds(metrics.GetHistogram("winnow_dedup_batch_seconds",
                                         "From the lock of a namespace's log to the commit.",
                                         Metrics::LatencyBuckets())),
      batch_documents(metrics.GetHistogram("winnow_dedup_batch_documents",
                                           "Documents of one log transaction.",
                                           {1, 3, 10, 30, 100, 300, 1'000})) {}

}  // namespace winnow::dedup
