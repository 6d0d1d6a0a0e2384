#pragma once

#include <chrono>
#include <cstdint>

#include "services/newsfeed/articles/commit_position.h"
#include "services/newsfeed/search/search_store.h"
#include "services/platform/process/metrics.h"
#include "services/platform/process/periodic_thread.h"

namespace winnow::newsfeed {

// Merges the words of articles that this process stored into the index of searches, soon after and
// outside the log's lock: what was two fifths of the time of an import's statements.
class WordMergeWorker {
 public:
  WordMergeWorker(SearchStore& store, const CommitPosition& last_commit, Metrics& metrics);

  void Start() {
    thread_.Start([this] { return Step(); });
  }
  void Stop() { thread_.Stop(); }

 private:
  std::chrono::milliseconds Step();

  SearchStore& store_;
  const CommitPosition& last_commit_;
  Counter& merged_;
  Counter& failed_;
  int64_t merged_to_ = -1;  // what another process left is merged at the start
  PeriodicThread thread_;   // last: ends before what its steps use
};

}  // namespace winnow::newsfeed
