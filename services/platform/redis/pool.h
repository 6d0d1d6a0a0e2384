#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/process/metrics.h"
#include "services/platform/redis/address.h"
#include "services/platform/redis/connection.h"

namespace winnow::redis {

struct PoolOptions {
  Address address;
  int connections = 4;
  std::chrono::milliseconds connect_timeout{1'000};
  std::chrono::milliseconds first_backoff{50};
  std::chrono::milliseconds longest_backoff{2'000};
};

// Connections, made by a thread of their own, and a circuit: from the first failure until a new
// connection was greeted by Redis, everybody is refused at once, so that a dead, stalled or lying
// Redis costs its callers one deadline in all.
class Pool {
 public:
  Pool(PoolOptions options, Metrics& metrics);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  StatusOr<std::unique_ptr<Connection>> Acquire(Deadline deadline);
  void Return(std::unique_ptr<Connection> connection);
  // Of a connection that failed: opens the circuit, and drops those that are idle.
  void ReportLoss(std::unique_ptr<Connection> connection);
  // A wait that the caller's own short deadline ended says nothing about Redis.
  void Discard(std::unique_ptr<Connection> connection);
  bool away() const;

 private:
  std::unique_ptr<Connection> TakeIdle(std::vector<std::unique_ptr<Connection>>& stale);
  void MaintainLoop();
  void Connect(std::unique_lock<std::mutex>& lock);

  const PoolOptions options_;
  std::stop_source stop_;
  Counter& connects_;
  Counter& failed_connects_;
  mutable std::mutex mutex_;
  std::condition_variable idle_changed_;
  std::condition_variable_any work_changed_;  // for the maintainer
  std::vector<std::unique_ptr<Connection>> idle_;
  int open_ = 0;  // idle and on loan
  int waiters_ = 0;
  bool away_ = false;
  std::chrono::milliseconds backoff_;
  std::vector<std::shared_ptr<void>> gauges_;
  std::thread maintainer_;
};

}  // namespace winnow::redis
