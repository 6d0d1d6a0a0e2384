#include "services/polling/store_metrics.h"

#include "services/polling/records.h"

namespace winnow::polling {

JobMetrics::JobMetrics(Metrics& metrics)
    : metrics_(metrics),
      claims_(metrics.GetCounter("winnow_polling_claims_total", "Claims that were answered.",
                                 {{"outcome", "jobs"}})),
      empty_claims_(metrics.GetCounter("winnow_polling_claims_total", "Claims that were answered.",
                                       {{"outcome", "empty"}})),
      claimed_(metrics.GetCounter("winnow_polling_claimed_jobs_total",
                                  "Jobs that were given to workers.")),
      heartbeats_(
          metrics.GetCounter("winnow_polling_heartbeats_total", "Leases that heartbeats named.")),
      late_heartbeats_(metrics.GetCounter("winnow_polling_heartbeat_late_total",
                                          "Leases that were lost before their heartbeat came.")),
      fence_rejects_(metrics.GetCounter(
          "winnow_polling_fence_rejects_total",
          "Commands of workers that were refused: a stale token, or a job that has ended.")) {}

void JobMetrics::CountClaim(size_t jobs) {
  (jobs == 0 ? empty_claims_ : claims_).Increment();
  claimed_.Increment(static_cast<double>(jobs));
}

void JobMetrics::CountHeartbeats(int64_t beats, int64_t lost) {
  heartbeats_.Increment(static_cast<double>(beats));
  late_heartbeats_.Increment(static_cast<double>(lost));
  fence_rejects_.Increment(static_cast<double>(lost));
}

void JobMetrics::CountRefusal(const Status& status) {
  if (status.code() == StatusCode::kFailedPrecondition) fence_rejects_.Increment();
}

void JobMetrics::CountSwept(const std::string& kind, const std::string& state, StaleReason reason) {
  metrics_
      .GetCounter("winnow_polling_swept_total",
                  "Jobs that were taken from their workers or given up.",
                  {{"kind", kind}, {"state", state}, {"reason", NameOf(reason)}})
      .Increment();
}

void JobMetrics::CountStale(const std::string& kind, std::span<const StaleJob> jobs) {
  for (const StaleJob& job : jobs) CountSwept(kind, job.state, job.reason);
}

bool JobMetrics::CountStale(const std::string& kind, std::span<const JobEvent> events) {
  bool any = false;
  for (const JobEvent& event : events) {
    if (event.reason == StaleReason::kNone) continue;
    CountSwept(kind, event.to_state, event.reason);
    any = true;
  }
  return any;
}

}  // namespace winnow::polling
