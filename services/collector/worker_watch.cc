#include "services/collector/worker_watch.h"

#include <iterator>

#include "services/collector/convert_sources.h"
#include "services/platform/log.h"

namespace winnow::collector {
namespace {

constexpr std::chrono::seconds kReadTime{10};
constexpr int kPage = 200;

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

void RunWatches::Add(const std::string& source_id, int64_t position, Subscriber subscriber) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    added_.push_back({source_id, position, std::move(subscriber)});
  }
  changed_.notify_all();
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
    watches.remove_if([this](Watch& watch) { return !Advance(watch); });
    watchers_.Set(static_cast<double>(watches.size()));
  }
}

bool RunWatches::Advance(Watch& watch) {
  if (watch.subscriber.Ended()) return false;
  if (!watch.subscriber.Idle()) return true;  // it has not read the page before
  const auto runs =
      store_.RunsAfter(std::chrono::steady_clock::now() + kReadTime, watch.position, kPage);
  if (!runs.ok()) {
    log::Warn("collector: watches wait for the store", {{"error", runs.status().ToString()}});
    return true;
  }
  for (const Run& run : *runs) {
    watch.position = run.position;
    if (!watch.source_id.empty() && run.source_id != watch.source_id) continue;
    v1::WatchRunsResponse response;
    *response.mutable_run() = ToProto(run);
    response.set_resume_token(ToWatchToken(watch.source_id, run.position));
    if (!watch.subscriber.Send(std::move(response))) return false;
  }
  return true;
}

}  // namespace winnow::collector
