#pragma once

#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "services/collector/sources/source_store.h"
#include "services/platform/grpc/call/subscriber.h"
#include "services/platform/process/metrics.h"
#include "winnow/collector/v1/collector_service.pb.h"

namespace winnow::collector {

// Who watches the runs. They are read by their positions, a few times a second while somebody
// watches: runs of other processes are seen too, and none is missed or repeated.
class RunWatches {
 public:
  using Subscriber = rpc::Subscriber<v1::WatchRunsResponse>;

  // `store` outlives it.
  RunWatches(SourceStore& store, Metrics& metrics,
             std::chrono::milliseconds poll = std::chrono::milliseconds(200));
  ~RunWatches() { Stop(); }
  void Start();
  // Drops the subscribers; the binder has ended those by then.
  void Stop();
  // Sends what comes after `reached`, of one source or of all. RESOURCE_EXHAUSTED: too many watch.
  Status Add(const std::string& source_id, RunsHead reached, Subscriber subscriber);

 private:
  struct Watch {
    std::string source_id;
    RunsHead reached;
    Subscriber subscriber;
  };
  void Loop();
  // Up to `head`. False: the watch has ended.
  bool Advance(Watch& watch, const RunsHead& head);

  SourceStore& store_;
  const std::chrono::milliseconds poll_;
  Gauge& watchers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  size_t count_ = 0;
  std::vector<Watch> added_;
  std::thread thread_;
};

}  // namespace winnow::collector
