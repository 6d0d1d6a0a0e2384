#pragma once

#include <chrono>
#include <list>
#include <string>
#include <utility>

#include "services/collector/sources/source_store.h"
#include "services/platform/grpc/call/subscriber.h"
#include "services/platform/grpc/call/watch_loop.h"
#include "services/platform/process/metrics.h"
#include "winnow/collector/v1/collector_service.pb.h"

namespace winnow::collector {

// The watches of runs. Runs are read by their positions, a few times a second while a watch
// is open: runs of other processes are seen too, and none is missed or repeated.
class RunWatches {
 public:
  using Subscriber = rpc::Subscriber<v1::WatchRunsResponse>;

  // `store` outlives it.
  RunWatches(SourceStore& store, Metrics& metrics,
             std::chrono::milliseconds poll = std::chrono::milliseconds(200));
  void Start() {
    loop_.Start([this](std::list<Watch>& watches) { return Serve(watches); });
  }
  void Stop() { loop_.Stop(); }
  // Sends what comes after `reached`, of one source or of all. Errors: as WatchLoop::Add.
  Status Add(const std::string& source_id, RunsHead reached, Subscriber subscriber) {
    return loop_.Add({source_id, std::move(reached), std::move(subscriber)});
  }

 private:
  struct Watch {
    std::string source_id;
    RunsHead reached;
    Subscriber subscriber;
  };
  bool Serve(std::list<Watch>& watches);
  // Up to `head`. False: the watch has ended.
  bool Advance(Watch& watch, const RunsHead& head);

  SourceStore& store_;
  Gauge& watchers_;
  rpc::WatchLoop<Watch> loop_;  // last: ends before what it uses
};

}  // namespace winnow::collector
