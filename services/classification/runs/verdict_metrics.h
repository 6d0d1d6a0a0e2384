#pragma once

#include <array>

#include "services/classification/comments/comment_records.h"
#include "services/classification/runs/run.h"
#include "services/platform/process/metrics.h"

namespace winnow::classification {

// What operators watch: verdicts by status and source, failures by kind, cost, overrides and how
// scores are spread (drift).
class VerdictMetrics {
 public:
  explicit VerdictMetrics(Metrics& metrics);
  void Count(const Outcome& outcome);
  void CountCost(int64_t calls, int64_t micros);
  // Comments whose verdict was known from before, and those that were asked.
  void CountCache(size_t hits, size_t misses);
  // Comments that a run judges as the one before it did, when it becomes active.
  void CountAgreement(int64_t same, int64_t different);
  void CountOverrides(int64_t changed, int64_t same);
  void CountImported(int64_t created, int64_t updated, int64_t skipped);
  void RunEnded(RunState state);

 private:
  std::array<std::array<Counter*, 6>, kStatuses> verdicts_{};  // by status, source
  std::array<Counter*, 11> failures_{};                        // by kind
  Counter& calls_;
  Counter& cost_;
  Counter& cache_hits_;
  Counter& cache_misses_;
  Counter& disagreements_;
  Counter& agreements_;
  Counter& same_;
  Counter& different_;
  Counter& created_;
  Counter& updated_;
  Counter& skipped_;
  std::array<Counter*, 6> ended_{};  // by state
  Histogram& scores_;
};

}  // namespace winnow::classification
