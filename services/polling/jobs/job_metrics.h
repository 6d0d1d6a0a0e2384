#pragma once

#include <atomic>
#include <span>
#include <string>

#include "services/platform/base/status.h"
#include "services/platform/process/metrics.h"
#include "services/polling/jobs/job_records.h"

namespace winnow::polling {

// Jobs of one ImportJobs, by what became of them.
struct ImportCounts {
  int64_t created = 0;
  int64_t present = 0;  // were here already
  int64_t refused = 0;
};

// What operators watch. Kinds and states are those of policies: closed sets.
class JobMetrics {
 public:
  explicit JobMetrics(Metrics& metrics);

  void CountClaim(size_t jobs);
  void CountHeartbeats(int64_t beats, int64_t lost);
  // A command that was refused: counted when the fence did it.
  void CountRefusal(const Status& status);
  void CountStale(const std::string& kind, std::span<const StaleJob> jobs);
  void CountImport(const std::string& kind, const ImportCounts& counts);
  // Ended jobs that were deleted, their retention being over.
  void CountExpired(const std::string& kind, int64_t jobs);
  // What a command made of its job: the ends, and what a sweep might have done; whether there was
  // any of that.
  bool CountEvents(const std::string& kind, std::span<const JobEvent> events);
  // Gauges of a kind, as it is now.
  void Set(const KindStats& stats);
  // Gauges over what was counted since the last time.
  void SetRatios();

 private:
  void CountSwept(const std::string& kind, const std::string& state, StaleReason reason);

  Metrics& metrics_;
  Counter& claims_;
  Counter& empty_claims_;
  Counter& claimed_;
  Counter& heartbeats_;
  Counter& late_heartbeats_;
  Counter& fence_rejects_;
  Gauge& empty_ratio_;
  std::atomic<int64_t> answered_ = 0;  // claims since the last SetRatios
  std::atomic<int64_t> empty_ = 0;
};

}  // namespace winnow::polling
