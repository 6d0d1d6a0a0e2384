#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "services/platform/clock.h"
#include "services/platform/events/delivery.h"
#include "services/platform/events/in_process_transport.h"
#include "services/platform/events/relay.h"
#include "services/platform/metrics.h"

namespace winnow::events {

// An outbox row whose event is with one or more consumers.
class Pending {
 public:
  Pending(Relay& relay, int64_t id, int consumers)
      : relay_(relay), id_(id), remaining_(consumers) {}
  Relay& relay() const { return relay_; }
  // One consumer has it done, or `dead` when it cannot. True with the last one; then `settled` is
  // what to tell the relay.
  bool Finish(std::vector<DeadLetter> dead, Settled& settled);

 private:
  Relay& relay_;
  const int64_t id_;
  std::mutex mutex_;
  int remaining_;
  std::vector<DeadLetter> dead_;
};

// An event on its way to one consumer.
struct Delivery {
  Envelope envelope;
  std::shared_ptr<Pending> pending;
  int deliveries = 0;
  int tries = 0;       // deliveries that count against max_deliveries
  bool alone = false;  // a batch with it threw
};

// What one consumer has still to take: delivers in batches on a thread of its own. Those that are
// to come again wait aside, so that they hold nobody up. As long as the relays' rows in flight.
class ConsumerQueue {
 public:
  ConsumerQueue(Consumer consumer, const InProcessOptions& options, Metrics& metrics);
  ~ConsumerQueue();  // stops

  void Start();
  // Ends after the delivery that is running; what waits is left where it is, in the outbox.
  void Stop();
  void Push(std::vector<Delivery> deliveries);
  // Counts an event that is dead before it could be delivered.
  void CountDead() { dead_.Increment(); }

  const Consumer& consumer() const { return consumer_; }
  // Whether nothing is ready or being delivered (some may wait for another try).
  bool Idle() const;
  // Grows with each delivery that begins.
  uint64_t begun() const;

 private:
  using Waiting = std::multimap<Deadline, Delivery>;
  void Run();
  std::vector<Delivery> TakeBatch();
  std::vector<Status> Deliver(std::span<const Envelope> envelopes, bool& threw);
  void Settle(std::vector<Delivery> batch, const std::vector<Status>& statuses, bool threw);
  bool Again(Delivery& delivery, const Status& status, bool threw);
  std::chrono::milliseconds Backoff(int deliveries);

  const Consumer consumer_;
  const InProcessOptions options_;
  Counter& delivered_;
  Counter& retried_;
  Counter& dead_;
  std::minstd_rand random_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Delivery> ready_;
  Waiting waiting_;
  uint64_t begun_ = 0;
  bool delivering_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace winnow::events
