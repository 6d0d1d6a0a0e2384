#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "services/newsfeed/store_search.h"
#include "services/platform/metrics.h"

namespace winnow::newsfeed {

// Merges the words of articles that this process stored into the index of searches, soon after and
// outside the log's lock: what was half of the time that storing articles held it.
class SearchWorker {
 public:
  // The last position of the log that this process committed.
  using LastCommit = std::function<int64_t()>;

  SearchWorker(SearchStore& store, LastCommit last_commit, Metrics& metrics);
  ~SearchWorker();  // stops

  void Start();
  void Stop();

 private:
  void Loop();

  SearchStore& store_;
  const LastCommit last_commit_;
  Counter& merged_;
  Counter& failed_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace winnow::newsfeed
