#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "services/platform/postgres/pool/pool.h"
#include "services/platform/process/metrics.h"

namespace winnow::dedup {

// Has the instances that write to one namespace decide what came in bulk one at a time: a document
// that a call waits for, whichever instance it came to, then finds one transaction of bulk before
// it, not one of each instance. A best-effort fairness lock: without a turn, bulk proceeds
// without one.
class BulkTurns {
 public:
  // Gives the turn back when destroyed. Null: there was none to be had.
  using Turn = std::shared_ptr<void>;
  // Called once for each Ask, on a thread of the turns; not after Stop.
  using Granted = std::function<void(const std::string& ns, Turn turn)>;

  // Each turn holds a connection of the pool from when it waits until it is given back.
  BulkTurns(pg::Pool& pool, Histogram& wait, Granted granted);
  ~BulkTurns();  // stops

  void Start();
  // Turns that were granted must be given back, or this waits for them.
  void Stop();

  // False when as many are waited for as may be, or after Stop: go on without.
  bool Ask(const std::string& ns);

 private:
  void Run();
  Status Hold(pg::Session& session, const std::string& ns, bool& is_granted);

  pg::Pool& pool_;
  Histogram& wait_;
  const Granted granted_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::string> asked_;  // by namespace, of which no thread knows yet
  size_t idle_ = 0;                // threads
  std::stop_source stop_;
  std::vector<std::jthread> threads_;
};

}  // namespace winnow::dedup
