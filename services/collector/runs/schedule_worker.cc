#include "services/collector/runs/schedule_worker.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "services/platform/base/uuid.h"
#include "services/platform/process/log.h"
#include "services/platform/process/pause.h"

namespace winnow::collector {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kStoreTime{10};
constexpr milliseconds kTick{1'000};
constexpr std::chrono::minutes kSweepEvery{10};
constexpr std::chrono::seconds kMeasureEvery{15};
constexpr int kMaxSweeps = 100;

Deadline Soon() { return steady_clock::now() + kStoreTime; }

}  // namespace

ScheduleWorker::ScheduleWorker(SourceStore& sources, QuotaStore& quotas, LedgerClient& ledger,
                               RunWorker& runner, const Clock& clock, Metrics& metrics,
                               Options options)
    : sources_(sources),
      quotas_(quotas),
      ledger_(ledger),
      runner_(runner),
      clock_(clock),
      metrics_(metrics),
      options_(std::move(options)),
      leads_(metrics.GetGauge("winnow_collector_leads",
                              "Whether this process runs the sources: 1 or 0.")) {}

void ScheduleWorker::Start() {
  loop_ = std::thread([this] { Loop(); });
  for (int i = 0; i < options_.threads; ++i) workers_.emplace_back([this] { Work(); });
}

void ScheduleWorker::Stop() {
  stop_.request_stop();
  if (!loop_.joinable()) return;
  loop_.join();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
  if (!leading_) return;
  const Status released = sources_.ReleaseLease(Soon(), options_.holder);
  if (!released.ok()) {
    log::Warn("collector: the lease runs out by itself", {{"error", released.ToString()}});
  }
}

void ScheduleWorker::Wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

void ScheduleWorker::Loop() {
  const milliseconds tick = std::min(kTick, options_.lease / 4);
  while (!stop_.stop_requested()) {
    const Status status = Step();
    if (!status.ok() && !told_) {
      log::Warn("collector: sources cannot be scheduled", {{"error", status.ToString()}});
    }
    told_ = !status.ok();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop_.get_token(), tick, [this] { return woken_; });
    woken_ = false;
  }
}

Status ScheduleWorker::Step() {
  bool held = false;
  WINNOW_RETURN_IF_ERROR(TakeLease(held));
  leads_.Set(held ? 1 : 0);
  if (!held) return OkStatus();
  WINNOW_RETURN_IF_ERROR(ClaimDue());
  Sweep();
  return Measure();
}

Status ScheduleWorker::TakeLease(bool& held) {
  const bool led = std::exchange(leading_, false);
  WINNOW_ASSIGN_OR_RETURN(const auto time,
                          sources_.TakeLease(Soon(), options_.holder, options_.lease));
  held = time.has_value();
  if (!held) {
    if (led) log::Warn("collector: another process runs the sources now");
    return OkStatus();
  }
  if (led) {
    ledger_.Observe(*time);
  } else {
    ledger_.TakeOver(*time);
    WINNOW_ASSIGN_OR_RETURN(const int64_t lost, sources_.EndLostRuns(Soon(), options_.holder));
    log::Info("collector: this process runs the sources", {{"lost_runs", lost}});
  }
  leading_ = true;
  return OkStatus();
}

Status ScheduleWorker::ClaimDue() {
  size_t free = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto threads = static_cast<size_t>(options_.threads);
    free = threads - std::min(busy_, threads);
  }
  if (free == 0) return OkStatus();
  std::vector<std::string> ids;
  for (size_t i = 0; i < free; ++i) ids.push_back(NewUuidV7(clock_.Now()));
  WINNOW_ASSIGN_OR_RETURN(std::vector<Claim> claims,
                          sources_.ClaimDue(Soon(), options_.holder, ids));
  if (claims.empty()) return OkStatus();
  {
    const std::lock_guard lock(mutex_);
    busy_ += claims.size();
    std::move(claims.begin(), claims.end(), std::back_inserter(waiting_));
  }
  changed_.notify_all();
  return OkStatus();
}

void ScheduleWorker::Sweep() {
  if (steady_clock::now() < next_sweep_) return;
  next_sweep_ = steady_clock::now() + kSweepEvery;
  for (int i = 0; i < kMaxSweeps && !stop_.stop_requested(); ++i) {
    const auto runs = sources_.DeleteOldRuns(Soon(), options_.run_retention);
    const auto pictures = quotas_.DeleteOldPictures(Soon());
    if (!runs.ok() || !pictures.ok()) {
      log::Warn("collector: no sweep now",
                {{"error", (runs.ok() ? pictures.status() : runs.status()).ToString()}});
      return;
    }
    if (*runs == 0 && *pictures == 0) return;
  }
}

Status ScheduleWorker::Measure() {
  if (steady_clock::now() < next_measure_) return OkStatus();
  next_measure_ = steady_clock::now() + kMeasureEvery;
  WINNOW_ASSIGN_OR_RETURN(const auto kinds, sources_.ReadKinds(Soon()));
  for (const SourceStore::KindState& kind : kinds) {
    const Labels labels = {{"kind", NameOf(kind.kind)}};
    metrics_.GetGauge("winnow_collector_sources", "Sources that are active.", labels)
        .Set(static_cast<double>(kind.active));
    metrics_
        .GetGauge("winnow_collector_blocked_sources", "Sources that are refused for good.", labels)
        .Set(static_cast<double>(kind.blocked));
    metrics_
        .GetGauge("winnow_collector_oldest_success_age_seconds",
                  "Since the last success of the active source that has waited longest.", labels)
        .Set(kind.oldest_success_seconds);
    metrics_
        .GetGauge("winnow_collector_most_overdue_seconds",
                  "How late the active source is that should have run first.", labels)
        .Set(std::max(0.0, kind.most_overdue_seconds));
  }
  return OkStatus();
}

void ScheduleWorker::Work() {
  for (;;) {
    Claim claim;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop_.get_token(), [this] { return !waiting_.empty(); });
      if (waiting_.empty()) return;
      claim = std::move(waiting_.front());
      waiting_.pop_front();
    }
    Execute(claim);
    {
      const std::lock_guard lock(mutex_);
      --busy_;
      woken_ = true;
    }
    changed_.notify_all();
  }
}

void ScheduleWorker::Execute(const Claim& claim) {
  RunWorker::Report report = runner_.Execute(claim, stop_.get_token());
  NextRun next = PlanNext(claim.source, report.result);
  if (report.run.code == kStopped) next.wait = std::chrono::seconds(0);  // another goes on
  // Without it the source would stand still until this process is followed by another.
  for (;;) {
    const auto ended = sources_.EndRun(Soon(), report.source, report.run, next);
    if (ended.ok()) {
      if (*ended) Count(report.run);
      break;
    }
    log::Warn("collector: a run's end is not stored", {{"error", ended.status().ToString()}});
    if (!Pause(stop_.get_token(), kTick)) return;
  }
  log::Info("collector: a source ran", {{"source", report.run.source_id},
                                        {"outcome", NameOf(report.run.outcome)},
                                        {"code", report.run.code},
                                        {"new_items", report.run.new_items}});
  if (options_.sequencer != nullptr) options_.sequencer->Wake();
}

void ScheduleWorker::Count(const Run& run) {
  const std::string kind = NameOf(run.kind);
  metrics_
      .GetCounter("winnow_collector_runs_total", "Runs that have ended, by outcome.",
                  {{"kind", kind}, {"outcome", NameOf(run.outcome)}})
      .Increment();
  const auto count = [&](const char* outcome, int64_t items) {
    metrics_
        .GetCounter("winnow_collector_items_total", "Items of sources, by what became of them.",
                    {{"kind", kind}, {"outcome", outcome}})
        .Increment(static_cast<double>(items));
  };
  count("new", run.new_items);
  count("known", run.known_items);
  count("refused", run.refused_items);
}

}  // namespace winnow::collector
