#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "services/newsfeed/store_index.h"
#include "services/platform/metrics.h"

namespace winnow::newsfeed {

// Brings what searches and keyword filters go by up to the rules of this version, behind what
// callers do: a hundred articles a transaction, from where the last process was. When all is done
// it looks again now and then, for what processes of the version before have written.
class IndexWorker {
 public:
  IndexWorker(IndexStore& store, Metrics& metrics);
  ~IndexWorker();  // stops

  void Start();
  void Stop();

 private:
  void Loop();

  IndexStore& store_;
  Counter& made_;
  Counter& failed_;
  Gauge& left_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace winnow::newsfeed
