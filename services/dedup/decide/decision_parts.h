#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "services/dedup/decide/decision_job.h"
#include "services/dedup/decide/decision_metrics.h"
#include "services/dedup/embedding/embedder_worker.h"
#include "services/dedup/policy/policy.h"
#include "services/dedup/text/fingerprint.h"
#include "services/platform/base/clock.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::dedup {

inline constexpr const char* kSchema = "dedup";

// Documents in the windows of all namespaces together.
struct MemoryBudget {
  std::atomic<int64_t> documents{0};
  int64_t max_documents = 4'000'000;
};

// What the loads of all windows share.
struct LoadBudget {
  std::atomic<int> free_threads{2};  // that read ahead, each with a connection
  std::atomic<bool> stopping{false};
};

// How long the comparisons of one log transaction may take. The store ends a transaction that is
// idle for two seconds.
struct JudgeLimits {
  std::chrono::milliseconds enough{400};  // no further document is begun
  std::chrono::milliseconds most{1'500};  // it is given up, and tried again with half of them
};

// What the deciders of all namespaces share.
struct DecisionParts {
  const TextRules& rules;
  const Clock& clock;
  pg::Pool& reads;
  pg::Pool& logs;
  Policy initial_policy;            // of a namespace that has none yet
  std::function<void()> committed;  // called after decisions were stored, with their events
  DecisionMetrics& metrics;
  MemoryBudget& memory;
  LoadBudget& loads;
  EmbedderWorker* embedder = nullptr;  // null: meaning is not compared
  size_t embedder_batch = 16;          // texts it is asked for at once, at most
  // How long a call waits for the embedder before it is decided without embeddings.
  std::chrono::milliseconds embedder_time{1'000};
  JudgeLimits limits = {};

  // Of the embedder; null if there is none.
  const EmbedderCalibration* meaning() const {
    return embedder == nullptr ? nullptr : &embedder->calibration();
  }
  // Its name; empty if there is none.
  std::string model() const { return embedder == nullptr ? std::string() : meaning()->model; }
};

// Ends a job, and counts how.
inline void Answer(const DecisionParts& parts, DecisionJob& job, StatusOr<Decision> decision) {
  parts.metrics.decide.Observe(std::chrono::steady_clock::now() - job.since);
  if (!decision.ok()) parts.metrics.CountError(decision.status());
  job.Answer(std::move(decision));
}

}  // namespace winnow::dedup
