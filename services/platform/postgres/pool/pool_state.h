#pragma once

#include <atomic>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "services/platform/postgres/pool/endpoint.h"
#include "services/platform/postgres/pool/listener.h"
#include "services/platform/postgres/pool/pool.h"
#include "services/platform/postgres/session/connection.h"
#include "services/platform/process/metrics.h"

namespace winnow::pg {

class PoolState;

// A connection on loan. Gives it back when destroyed; one that is marked as lost is closed.
class Lease {
 public:
  Lease(PoolState& pool, std::unique_ptr<Connection> connection)
      : pool_(&pool), connection_(std::move(connection)) {}
  Lease(Lease&& other) noexcept = default;
  Lease& operator=(Lease&&) = delete;
  ~Lease();

  Connection& connection() { return *connection_; }
  void MarkLost() { lost_ = true; }
  // OK unless the watchdog cut it off: the server did not answer by the deadline, or the pool
  // ended.
  Status cut() const;

 private:
  PoolState* pool_;
  std::unique_ptr<Connection> connection_;
  bool lost_ = false;
};

// What a Pool is made of: idle connections, those on loan, a thread that makes new ones (so that
// a caller's deadline holds while a connect hangs), and a watchdog that cuts off connections whose
// server does not answer.
class PoolState {
 public:
  PoolState(PoolOptions options, Metrics& metrics);
  ~PoolState();
  PoolState(const PoolState&) = delete;
  PoolState& operator=(const PoolState&) = delete;

  // UNAVAILABLE at once while PostgreSQL is away; OVERLOADED when none came free in time.
  StatusOr<Lease> Acquire(Deadline deadline);

  // A statement was answered just now.
  void NoteAnswer();
  // Whether an answer on the lease to what began at `began` counts (PrimaryWatch::Confirmed).
  // `transaction`: the lease's, in which no transaction of the server is open by now.
  Status Confirm(Lease& lease, Deadline began, pqxx::transaction_base& transaction);
  // True when one was within the last second.
  bool AnsweredJustNow() const;

  // As Pool::EndBy.
  void EndBy(Deadline deadline);

  // Wakes that come by NOTIFY; made at first use. Null where a pooler makes LISTEN impossible.
  Listener* listener();

 private:
  friend class Lease;
  struct Loan {
    const Connection* connection;
    int socket;
    Deadline cut_after;
    bool cut = false;
  };

  void Return(std::unique_ptr<Connection> connection, bool lost);
  Status CutOf(const Connection* connection) const;
  std::unique_ptr<Connection> TakeIdle(std::vector<std::unique_ptr<Connection>>& stale);
  void MaintainLoop();
  bool NeedsConnection() const;
  void Connect(std::unique_lock<std::mutex>& lock);
  void WatchLoop();
  void CutLate();
  void OnPrimaryChange();
  void AddGauges();

  const PoolOptions options_;
  Metrics& metrics_;
  Status url_status_;  // why the URL cannot be used, if so
  Endpoint endpoint_;
  Histogram& wait_seconds_;
  Counter& connects_;
  Counter& failed_connects_;

  mutable std::mutex mutex_;
  std::condition_variable idle_changed_;
  std::condition_variable_any work_changed_;       // for the maintainer
  std::condition_variable_any end_changed_;        // for the watchdog
  std::vector<std::unique_ptr<Connection>> idle_;  // the last one used first
  std::list<Loan> loans_;
  int open_ = 0;              // idle and on loan
  int waiters_ = 0;           // callers in Acquire
  bool away_ = false;         // the last attempt to connect failed
  bool connect_now_ = false;  // there is another primary: whatever the backoff says
  Deadline end_by_ = Deadline::max();
  std::stop_source stop_;
  std::chrono::milliseconds backoff_;
  std::atomic<Deadline::rep> last_answer_{0};
  std::once_flag listener_once_;
  std::unique_ptr<Listener> listener_;
  std::vector<std::shared_ptr<void>> gauges_;
  std::thread maintainer_;
  std::thread watchdog_;
  std::shared_ptr<void> primary_changes_;
};

}  // namespace winnow::pg
