#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/events/core/consumer_queue.h"
#include "services/platform/events/core/outbox_sql.h"
#include "services/platform/postgres/pool/pool.h"
#include "services/platform/process/metrics.h"

namespace winnow::events {

struct OutboxRow {
  int64_t id = 0;
  std::string event;
  std::string envelope;  // serialised
};

// A row that may leave the outbox.
struct Settled {
  int64_t id = 0;
  std::vector<DeadLetter> dead;
};

struct RelayOptions {
  std::chrono::milliseconds poll_interval{100};
  std::chrono::milliseconds lease{5'000};
};

// Drains the outbox of one schema: reads rows in order of id, hands each over once, and removes
// those that are settled. One process of several does so at a time, by a lease, which another may
// have at once when its holder dies; a row comes again, to the lease's next holder, until it
// is settled.
class Relay {
 public:
  // Rows in flight, at most: read and not yet removed. It bounds every queue behind the relay.
  static constexpr size_t kMaxInFlight = 10'000;
  static constexpr size_t kMaxRead = 1'000;

  // Takes rows that were read; Settle is to be called for each, from any thread.
  using Take = std::function<void(std::vector<OutboxRow>)>;

  Relay(pg::Pool& pool, Metrics& metrics, std::string schema, RelayOptions options, Take take);
  ~Relay();  // ends the thread

  // Runs steps on a thread of its own, until Halt.
  void Start();
  void Halt();
  // Looks for rows now instead of at the next poll.
  void Wake();
  // Waits until there may be work, at most `timeout`. False when the relay is to halt.
  bool AwaitWork(std::chrono::milliseconds timeout, bool wakeable = true);
  void Settle(std::vector<Settled> settled);

  // Removes what is settled, reads and hands over what has room; how many rows that was. Called by
  // the relay's thread, and after Halt by others.
  StatusOr<size_t> Step();
  // After Halt: removes what is settled and lets another process have the lease, by `deadline` (or
  // kStopGrace from now, if that is later). Otherwise the lease ends by itself.
  Status Release(Deadline deadline);
  // How the last step ended.
  Status health() const;

 private:
  void Run();
  void Record(const Status& status);
  StatusOr<bool> HoldLease();
  Status RemoveSettled(Deadline deadline);
  StatusOr<std::vector<OutboxRow>> Read(size_t limit);
  Status Measure();

  pg::Pool& pool_;
  const std::string schema_;
  const RelayOptions options_;
  const Take take_;
  const OutboxSql& sql_;
  const std::string holder_;
  Gauge& depth_;
  Gauge& oldest_age_;
  Gauge& dead_;

  // Of the thread that runs steps.
  std::set<int64_t> in_flight_;
  Deadline lease_until_{};
  Deadline next_measure_{};

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<Settled> settled_;
  Status health_;
  bool woken_ = false;
  bool halting_ = false;
  std::thread thread_;
};

}  // namespace winnow::events
