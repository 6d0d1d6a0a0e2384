#include "services/collector/worker_watch.h"

#include <iterator>

#include "services/collector/convert_sources.h"
#include "services/platform/log.h"

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
    if (count_ >= kMostWatchers) return Overloaded("watches of runs", kRetryAfter);
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
    watches.remove_if([this](Watch& watch) { return !Advance(watch); });
    {
      const std::lock_guard lock(mutex_);
      count_ -= before - watches.size();
    }
    watchers_.Set(static_cast<double>(watches.size()));
  }
}

bool RunWatches::Advance(Watch& watch) {
  if (watch.subscriber.Ended()) return false;
  if (!watch.subscriber.Idle()) return true;  // it has not read the page before
  const auto runs =
      store_.RunsAfter(std::chrono::steady_clock::now() + kReadTime, watch.reached.position, kPage);
  if (!runs.ok()) {
    log::Warn("collector: watches wait for the store", {{"error", runs.status().ToString()}});
    return true;
  }
  // The first run of all begins a history.
  if (watch.reached.epoch.empty() && !runs->empty()) {
    const auto head = store_.ReadHead(std::chrono::steady_clock::now() + kReadTime);
    if (!head.ok()) return true;  // the next look tells
    watch.reached.epoch = head->epoch;
  }
  for (const Run& run : *runs) {
    watch.reached.position = run.position;
    if (!watch.source_id.empty() && run.source_id != watch.source_id) continue;
    v1::WatchRunsResponse response;
    *response.mutable_run() = ToProto(run);
    response.set_resume_token(ToWatchToken(watch.source_id, watch.reached));
    if (!watch.subscriber.Send(std::move(response))) return false;
  }
  return true;
}

}  // namespace winnow::collector
