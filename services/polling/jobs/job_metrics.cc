#include "services/polling/jobs/job_metrics.h"

#include <algorithm>
#include <chrono>

#include "services/polling/jobs/job_records.h"

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
          "Commands of workers that were refused: a stale token, or a job that has ended.")),
      empty_ratio_(metrics.GetGauge("winnow_polling_claim_empty_ratio",
                                    "Share of claims of the last seconds that got no job.")) {}

void JobMetrics::CountClaim(size_t jobs) {
  (jobs == 0 ? empty_claims_ : claims_).Increment();
  ++answered_;
  if (jobs == 0) ++empty_;
  claimed_.Increment(static_cast<double>(jobs));
}

void JobMetrics::CountHeartbeats(int64_t beats, int64_t lost) {
  heartbeats_.Increment(static_cast<double>(beats));
  late_heartbeats_.Increment(static_cast<double>(lost));
  fence_rejects_.Increment(static_cast<double>(lost));
}

void JobMetrics::CountRefusal(const Status& status) {
  if (ReasonOf(status) == Reason::kStaleToken) fence_rejects_.Increment();
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

void JobMetrics::CountImport(const std::string& kind, const ImportCounts& counts) {
  const auto add = [&](const char* outcome, int64_t jobs) {
    if (jobs == 0) return;
    metrics_
        .GetCounter("winnow_polling_imported_total", "Jobs that imports named, by outcome.",
                    {{"kind", kind}, {"outcome", outcome}})
        .Increment(static_cast<double>(jobs));
  };
  add("created", counts.created);
  add("present", counts.present);
  add("refused", counts.refused);
}

void JobMetrics::CountExpired(const std::string& kind, int64_t jobs) {
  if (jobs == 0) return;
  metrics_
      .GetCounter("winnow_polling_expired_total",
                  "Ended jobs that were deleted when their retention was over.", {{"kind", kind}})
      .Increment(static_cast<double>(jobs));
}

bool JobMetrics::CountEvents(const std::string& kind, std::span<const JobEvent> events) {
  bool any = false;
  for (const JobEvent& event : events) {
    const bool ends = event.change == Change::kCompleted || event.change == Change::kFailed ||
                      event.change == Change::kCancelled;
    if (ends) {
      metrics_
          .GetCounter("winnow_polling_ended_total", "Jobs that came to their end.",
                      {{"kind", kind}, {"phase", NameOf(event.phase)}})
          .Increment();
    }
    if (event.reason == StaleReason::kNone) continue;
    CountSwept(kind, event.to_state, event.reason);
    any = true;
  }
  return any;
}

void JobMetrics::Set(const KindStats& stats) {
  const auto seconds = [](Micros time) { return std::chrono::duration<double>(time).count(); };
  // Also those of which there are none now.
  for (const std::string& state : stats.states) {
    Micros oldest{0};
    int64_t waiting = 0;
    int64_t leased = 0;
    for (const KindStats::Count& count : stats.counts) {
      if (count.state != state) continue;
      (count.phase == Phase::kWaiting ? waiting : leased) += count.count;
      oldest = std::max(oldest, stats.now - count.oldest);
    }
    const char* inflight = "Jobs in flight, by state and phase.";
    const Labels labels = {{"kind", stats.kind}, {"state", state}};
    const auto with = [&](const char* phase) {
      Labels more = labels;
      more["phase"] = phase;
      return more;
    };
    metrics_.GetGauge("winnow_polling_inflight", inflight, with("waiting"))
        .Set(static_cast<double>(waiting));
    metrics_.GetGauge("winnow_polling_inflight", inflight, with("leased"))
        .Set(static_cast<double>(leased));
    metrics_
        .GetGauge("winnow_polling_oldest_age_seconds",
                  "How long the oldest job in flight has been in its state.", labels)
        .Set(seconds(oldest));
  }
  metrics_
      .GetGauge("winnow_polling_due_lag_seconds",
                "How long the due job that waits longest has been due.", {{"kind", stats.kind}})
      .Set(seconds(stats.DueLag()));
  metrics_.GetGauge("winnow_polling_paused", "Whether the kind is paused.", {{"kind", stats.kind}})
      .Set(stats.clock.is_paused() ? 1 : 0);
}

void JobMetrics::SetRatios() {
  const auto answered = static_cast<double>(answered_.exchange(0));
  const auto empty = static_cast<double>(empty_.exchange(0));
  empty_ratio_.Set(answered > 0 ? empty / answered : 0);
}

}  // namespace winnow::polling
