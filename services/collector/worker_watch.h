#pragma once

#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "services/collector/store_sources.h"
#include "services/platform/grpc/watch.h"
#include "services/platform/metrics.h"
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
  // Sends what comes after `position`, of one source or of all.
  void Add(const std::string& source_id, int64_t position, Subscriber subscriber);

 private:
  struct Watch {
    std::string source_id;
    int64_t position = 0;
    Subscriber subscriber;
  };
  void Loop();
  // False: the watch has ended.
  bool Advance(Watch& watch);

  SourceStore& store_;
  const std::chrono::milliseconds poll_;
  Gauge& watchers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<Watch> added_;
  std::thread thread_;
};

}  // namespace winnow::collector
