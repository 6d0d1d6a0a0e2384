#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "services/dedup/fingerprint.h"
#include "services/dedup/policy.h"
#include "services/platform/clock.h"
#include "services/platform/metrics.h"
#include "services/platform/postgres/pool.h"

namespace winnow::dedup {

inline constexpr const char* kSchema = "dedup";

// What the worker tells of itself.
struct WorkerMetrics {
  explicit WorkerMetrics(Metrics& metrics);

  Counter& unique;
  Counter& by_url;
  Counter& by_title;
  Counter& by_tokens;
  Counter& store_fallbacks;
  Counter& shortened;
  Histogram& batch_seconds;
  Histogram& batch_documents;
};

// Documents in the windows of all namespaces together.
struct MemoryBudget {
  std::atomic<int64_t> documents{0};
  int64_t max_documents = 4'000'000;
};

// What the deciders of all namespaces share.
struct WorkerParts {
  const TextRules& rules;
  const Clock& clock;
  pg::Pool& reads;
  pg::Pool& logs;
  Policy initial_policy;            // of a namespace that has none yet
  std::function<void()> committed;  // told after decisions were stored, with their events
  WorkerMetrics& metrics;
  MemoryBudget& memory;
};

}  // namespace winnow::dedup
