#include "services/polling/leases/sweep_worker.h"

#include <algorithm>

#include "services/platform/process/log.h"
#include "services/platform/process/pause.h"

namespace winnow::polling {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kStepTime(20);
constexpr std::chrono::milliseconds kLongestRest(100);

Deadline Soon() { return steady_clock::now() + kStepTime; }

// Half of the time is left to others.
std::chrono::milliseconds RestAfter(steady_clock::time_point begin) {
  const auto took = std::chrono::ceil<std::chrono::milliseconds>(steady_clock::now() - begin);
  return std::min(took, kLongestRest);
}

}  // namespace

void SweepWorker::Start() {
  thread_ = std::jthread([this] { Run(); });
}

void SweepWorker::Stop() {
  stop_.request_stop();
  thread_ = std::jthread();
}

void SweepWorker::Run() {
  bool logged = false;
  auto next_gauges = steady_clock::now();
  do {
    Status done = SweepAll();
    // One kind that cannot be swept hides no other's figures.
    if (done.code() != StatusCode::kUnavailable && steady_clock::now() >= next_gauges) {
      const Status set = SetGauges();
      if (done.ok()) done = set;
      next_gauges = steady_clock::now() + options_.gauges_every;
    }
    if (!done.ok() && !logged) {
      log::Warn("polling: nothing is swept now", {{"error", done.ToString()}});
    }
    logged = !done.ok();
  } while (winnow::Pause(stop_.get_token(), options_.every));
}

Status SweepWorker::SweepAll() {
  WINNOW_ASSIGN_OR_RETURN(const auto kinds, store_.ListKinds(Soon()));
  Status all;
  for (const KindToSweep& kind : kinds) {
    if (stopping()) return OkStatus();
    Status swept = SweepKind(kind);
    if (swept.ok()) continue;
    // The store is away for all of them; an error of one kind does not delay the others.
    if (swept.code() == StatusCode::kUnavailable) return swept;
    if (all.ok()) all = swept;
  }
  return all;
}

Status SweepWorker::SweepKind(const KindToSweep& kind) {
  WINNOW_RETURN_IF_ERROR(SweepBy(kind.kind, SweepClock::kLease));
  if (!kind.is_due) return OkStatus();
  WINNOW_RETURN_IF_ERROR(SweepBy(kind.kind, SweepClock::kDeadline));
  WINNOW_RETURN_IF_ERROR(SweepBy(kind.kind, SweepClock::kNoProgress));
  WINNOW_RETURN_IF_ERROR(ExpireEnded(kind.kind));
  // Not before all is swept: who dies here leaves the rest to the others, at once.
  return store_.SetSwept(Soon(), kind.kind);
}

Status SweepWorker::SweepBy(const std::string& kind, SweepClock clock) {
  for (;;) {
    const auto begin = steady_clock::now();
    WINNOW_ASSIGN_OR_RETURN(const std::vector<StaleJob> swept,
                            store_.Sweep(Soon(), kind, clock, options_.batch));
    if (swept.empty()) return OkStatus();
    claims_.ReportStale(kind, swept);
    if (std::ssize(swept) < options_.batch) return OkStatus();
    // Half of the time is the others': claims and heartbeats beside a great sweep do not wait.
    if (!winnow::Pause(stop_.get_token(), RestAfter(begin))) {
      return OkStatus();
    }
  }
}

Status SweepWorker::ExpireEnded(const std::string& kind) {
  for (;;) {
    const auto begin = steady_clock::now();
    WINNOW_ASSIGN_OR_RETURN(const int64_t gone, store_.Expire(Soon(), kind, options_.batch));
    metrics_.CountExpired(kind, gone);
    if (gone < options_.batch) return OkStatus();
    if (!winnow::Pause(stop_.get_token(), RestAfter(begin))) {
      return OkStatus();
    }
  }
}

Status SweepWorker::SetGauges() {
  WINNOW_ASSIGN_OR_RETURN(const auto kinds, store_.ListKinds(Soon()));
  for (const KindToSweep& kind : kinds) {
    const auto stats = store_.GetStats(Soon(), kind.kind, false);
    if (stats.status().code() == StatusCode::kNotFound) continue;
    WINNOW_RETURN_IF_ERROR(stats.status());
    metrics_.Set(*stats);
  }
  metrics_.SetRatios();
  return OkStatus();
}

}  // namespace winnow::polling
