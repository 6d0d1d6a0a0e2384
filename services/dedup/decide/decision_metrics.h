#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>

#include "services/dedup/log/decision.h"
#include "services/platform/base/status.h"
#include "services/platform/process/metrics.h"

namespace winnow::dedup {

// A duration as a histogram, and its mean since the start for GetStats.
class Timing {
 public:
  explicit Timing(Histogram& histogram) : histogram_(histogram) {}
  void Observe(std::chrono::steady_clock::duration time);
  double MeanSeconds() const;

 private:
  Histogram& histogram_;
  std::atomic<int64_t> count_{0};
  std::atomic<int64_t> nanoseconds_{0};
};

// Metrics of the worker.
struct DecisionMetrics {
  explicit DecisionMetrics(Metrics& metrics);

  // A document was decided and stored.
  void CountDecision(const Decision& decision);
  // A document got no decision.
  void CountError(const Status& status);
  // A document was let through, because the store was away.
  void CountStoreFallback();
  // A document was decided without its meaning, because the embedder was away.
  void CountEmbedderFallback();
  void CountShortened();

  Timing decide;   // from a document's arrival here to its answer
  Timing compare;  // of a document with the window
  Timing read;     // a batch's reads
  Timing write;    // a batch's writes, without the commit
  Histogram& batch_seconds;
  Histogram& batch_documents;
  Histogram& load_seconds;  // of windows
  Histogram& turn_seconds;  // that bulk waits for other instances
  Counter& item_retries;
  Counter& window_retries;
  Counter& slow_retries;
  Counter& undecidable;  // documents that take too long even alone
  std::atomic<int64_t> decided{0};
  std::atomic<int64_t> store_fallbacks{0};
  std::atomic<int64_t> embedder_fallbacks{0};
  std::atomic<int64_t> shortened{0};

 private:
  Metrics& metrics_;
  Histogram& similarity_;
  std::map<Stage, Counter*> by_stage_;
  Counter& store_fallbacks_total_;
  Counter& embedder_fallbacks_total_;
  Counter& shortened_total_;
};

}  // namespace winnow::dedup
