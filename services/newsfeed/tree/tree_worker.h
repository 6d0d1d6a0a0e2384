#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "services/newsfeed/tree/tree_store.h"
#include "services/platform/process/metrics.h"

namespace winnow::newsfeed {

// Finishes changes of the category tree that nobody waits for: those whose caller's time was up, or
// whose process died.
class TreeWorker {
 public:
  TreeWorker(TreeStore& store, Metrics& metrics);
  ~TreeWorker();  // stops

  void Start();
  void Stop();
  // There is something to do.
  void Wake();

 private:
  void Loop();
  void Work();

  TreeStore& store_;
  Counter& moved_;
  Counter& failed_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace winnow::newsfeed
