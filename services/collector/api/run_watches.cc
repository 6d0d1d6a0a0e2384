#include "services/collector/api/run_watches.h"

#include "services/collector/api/source_convert.h"
#include "services/platform/process/log.h"

namespace winnow::collector {
namespace {

constexpr std::chrono::seconds kReadTime{10};
constexpr int kPage = 200;
constexpr size_t kMaxWatches = 200;

}  // namespace

RunWatches::RunWatches(SourceStore& store, Metrics& metrics, std::chrono::milliseconds poll)
    : store_(store),
      watchers_(metrics.GetGauge("winnow_collector_watchers", "Watches of runs that go on.")),
      loop_({"WatchRuns", kMaxWatches, poll}) {}

bool RunWatches::Serve(std::list<Watch>& watches) {
  const auto head = store_.ReadHead(std::chrono::steady_clock::now() + kReadTime);
  if (!head.ok()) {
    log::Warn("collector: watches wait for the store", {{"error", head.status().ToString()}});
  }
  watches.remove_if([&](Watch& watch) {
    return watch.subscriber.Ended() || (head.ok() && !Advance(watch, *head));
  });
  watchers_.Set(static_cast<double>(watches.size()));
  return false;
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
