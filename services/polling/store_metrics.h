#pragma once

#include <mutex>
#include <span>
#include <string>

#include "services/platform/metrics.h"
#include "services/platform/status.h"
#include "services/polling/records.h"

namespace winnow::polling {

// What operators watch. Kinds and states are those of policies: closed sets.
class JobMetrics {
 public:
  explicit JobMetrics(Metrics& metrics);

  void CountClaim(size_t jobs);
  void CountHeartbeats(int64_t beats, int64_t lost);
  // A command that was refused: counted when the fence did it.
  void CountRefusal(const Status& status);
  void CountStale(const std::string& kind, std::span<const StaleJob> jobs);
  // What a command made of its job that a sweep might have; whether there was any.
  bool CountStale(const std::string& kind, std::span<const JobEvent> events);

 private:
  void CountSwept(const std::string& kind, const std::string& state, StaleReason reason);

  Metrics& metrics_;
  Counter& claims_;
  Counter& empty_claims_;
  Counter& claimed_;
  Counter& heartbeats_;
  Counter& late_heartbeats_;
  Counter& fence_rejects_;
};

}  // namespace winnow::polling
