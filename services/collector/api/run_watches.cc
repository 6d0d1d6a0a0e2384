#include "services/collector/api/run_watches.h"

#include <iterator>

#include "services/collector/api/source_convert.h"
#include "services/platform/process/log.h"

namespace winnow::collector {
namespace {

constexpr std::chrono::seconds kReadTime{10};
constexpr int kPage = 200;
constexpr size_t kMostWatchers = 200;
constexpr std::chrono::milliseconds kRetryAfter{1000};

}  // namespace

RunWatches::RunWatches(SourceStore& store, Metrics& metrics, std::chrono::milliseconds poll)
    : store_(store),
      poll_(poll),
      watchers_(metrics.GetGauge("winnow_collector_watchers", "Watches of runs that go on.")) {}

void RunWatches::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void RunWatches::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(mutex_);
  added_.clear();
}

Status RunWatches::Add(const std::string& source_id, RunsHead reached, Subscriber subscriber) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return OkStatus();  // the binder ends it
    if (count_ >= kMostWatchers)
      return Overloaded("this server has " + std::to_string(kMostWatchers) +
                            " WatchRuns calls, its limit: retry after the delay in RetryInfo",
                        kRetryAfter);
    ++count_;
    added_.push_back({source_id, std::move(reached), std::move(subscriber)});
  }
  changed_.notify_all();
  return OkStatus();
}

void RunWatches::Loop() {
  std::list<Watch> watches;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      const auto woken = [this] { return stopping_ || !added_.empty(); };
      if (watches.empty()) {
        changed_.wait(lock, woken);
      } else {
        changed_.wait_for(lock, poll_, woken);
      }
      if (stopping_) return;
      std::move(added_.begin(), added_.end(), std::back_inserter(watches));
      added_.clear();
    }
    const size_t before = watches.size();
    const auto head = store_.ReadHead(std::chrono::steady_clock::now() + kReadTime);
    if (!head.ok()) {
      log::Warn("collector: watches wait for the store", {{"error", head.status().ToString()}});
    }
    watches.remove_if([&](Watch& watch) {
      return watch.subscriber.Ended() || (head.ok() && !Advance(watch, *head));
    });
    {
      const std::lock_guard lock(mutex_);
      count_ -= before - watches.size();
    }
    watchers_.Set(static_cast<double>(watches.size()));
  }
}

bool RunWatches::Advance(Watch& watch, const RunsHead& head) {
  RunsHead& reached = watch.reached;
  // The first run of all begins a history; another one is that of a restored database.
  if (!reached.epoch.empty() && reached.epoch != head.epoch) {
    watch.subscriber.End(HistoryGone());
    return false;
  }
  if (!watch.subscriber.Idle()) return true;  // it has not read the page before
  if (reached.position >= head.position) return true;
  const auto runs =
      store_.RunsAfter(std::chrono::steady_clock::now() + kReadTime, reached.position, kPage);
  if (!runs.ok()) {
    log::Warn("collector: watches wait for the store", {{"error", runs.status().ToString()}});
    return true;
  }
  reached.epoch = head.epoch;
  for (const Run& run : *runs) {
    if (run.position > head.position) break;  // the next look's
    reached.position = run.position;
    if (!watch.source_id.empty() && run.source_id != watch.source_id) continue;
    v1::WatchRunsResponse response;
    *response.mutable_run() = ToProto(run);
    response.set_resume_token(ToWatchToken(watch.source_id, reached));
    if (!watch.subscriber.Send(std::move(response))) return false;
  }
  return true;
}

}  // namespace winnow::collector
