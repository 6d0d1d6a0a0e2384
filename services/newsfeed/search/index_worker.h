#pragma once

#include <chrono>

#include "services/newsfeed/search/index_store.h"
#include "services/platform/process/metrics.h"
#include "services/platform/process/periodic_thread.h"

namespace winnow::newsfeed {

// Brings what searches and keyword filters go by up to the rules of this version, behind what
// callers do: a hundred articles a transaction, from where the last process was. When all is done
// it looks again now and then, for what processes of the version before have written.
class IndexWorker {
 public:
  IndexWorker(IndexStore& store, Metrics& metrics);

  void Start() {
    thread_.Start([this] { return Step(); });
  }
  void Stop() { thread_.Stop(); }

 private:
  std::chrono::milliseconds Step();

  IndexStore& store_;
  Counter& made_;
  Counter& failed_;
  Gauge& left_;
  PeriodicThread thread_;  // last: ends before what its steps use
};

}  // namespace winnow::newsfeed
