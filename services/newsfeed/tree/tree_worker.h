#pragma once

#include <chrono>

#include "services/newsfeed/tree/tree_store.h"
#include "services/platform/process/metrics.h"
#include "services/platform/process/periodic_thread.h"

namespace winnow::newsfeed {

// Finishes changes of the category tree that no call finishes: its deadline passed, or its process
// died.
class TreeWorker {
 public:
  TreeWorker(TreeStore& store, Metrics& metrics);

  void Start() {
    thread_.Start([this] { return Step(); });
  }
  void Stop() { thread_.Stop(); }
  // There is something to do.
  void Wake() { thread_.Wake(); }

 private:
  std::chrono::milliseconds Step();

  TreeStore& store_;
  Counter& moved_;
  Counter& failed_;
  PeriodicThread thread_;  // last: ends before what its steps use
};

}  // namespace winnow::newsfeed
