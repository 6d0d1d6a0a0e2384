#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/events/core/consumer.h"
#include "services/platform/process/metrics.h"

namespace winnow::events {

// A consumer that an event could not be given to.
struct DeadLetter {
  std::string consumer;
  std::string reason;
  int deliveries = 0;
};

// How a delivery ended: done, or dead.
struct DeliveryResult {
  uint64_t ticket = 0;
  std::optional<DeadLetter> dead;
};

// Where deliveries come from, and where their end is reported: an outbox, or a broker's queue.
class Origin {
 public:
  virtual ~Origin() = default;
  // Called by the consumer's thread, once for each delivery.
  virtual void Settle(std::vector<DeliveryResult> endings) = 0;
  // Whether nobody asks for their end any more: a broker delivers them again over another
  // connection.
  virtual bool Lost() const { return false; }
};

// An event on its way to one consumer.
struct Delivery {
  Envelope envelope;
  std::shared_ptr<Origin> origin;
  uint64_t ticket = 0;  // names it to its origin
  int deliveries = 0;
  int tries = 0;                       // deliveries that count against max_deliveries
  bool alone = false;                  // to be: a batch with it threw or timed out
  uint64_t done_before = 0;            // what the queue had done when that happened last
  std::chrono::milliseconds asked{0};  // delay before the next try, requested by the consumer
};

struct QueueOptions {
  int max_deliveries = 20;  // Events.max_deliveries of the config
  // An event that is to come again waits first_backoff, then twice as long each time up to
  // max_backoff, less up to a half at random; but as long as the error asks for, up to max_backoff.
  std::chrono::milliseconds first_backoff{100};
  std::chrono::milliseconds max_backoff{10'000};
};

// What one consumer has still to take: delivers in batches on a thread of its own. Those that are
// to come again wait aside and then at the end of the queue, so that they do not block the others.
// As long as what its origins have in flight.
class ConsumerQueue {
 public:
  ConsumerQueue(Consumer consumer, const QueueOptions& options, Metrics& metrics);
  ~ConsumerQueue();  // stops

  void Start();
  // Ends after the delivery that is running; what waits is left where it is, with its origin.
  void Stop();
  void Push(std::vector<Delivery> deliveries);
  // Delivers nothing more of an origin that is lost.
  void Forget(const Origin& origin);
  // Counts an event that is dead before it could be delivered.
  void CountDead() { dead_.Increment(); }

  const Consumer& consumer() const { return consumer_; }
  // Whether nothing is ready or being delivered (some may wait for another try).
  bool Idle() const;
  // Grows with each delivery that begins.
  uint64_t begun() const;

 private:
  using Waiting = std::multimap<Deadline, Delivery>;
  void Run(const std::stop_token& stop);
  std::vector<Delivery> TakeBatch(const std::stop_token& stop);
  std::vector<Status> Deliver(std::span<const Envelope> envelopes, bool& threw);
  void Settle(std::vector<Delivery> batch, const std::vector<Status>& statuses, bool threw);
  bool Again(Delivery& delivery, const Status& status, bool threw);
  bool Counts(Delivery& delivery, Verdict verdict) const;
  DeadLetter Bury(const Delivery& delivery, const Status& status);
  void WaitAside(std::vector<Delivery> again);
  std::chrono::milliseconds Backoff(const Delivery& delivery);
  void TellWhetherHeld(const std::vector<Status>& statuses);

  const Consumer consumer_;
  const QueueOptions options_;
  Counter& delivered_;
  Counter& retried_;
  Counter& dead_;
  Gauge& held_gauge_;
  bool held_ = false;  // of the thread: the consumer cannot now
  uint64_t done_ = 0;  // of the thread: events that the consumer has done
  std::minstd_rand random_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  std::deque<Delivery> ready_;
  Waiting waiting_;
  uint64_t begun_ = 0;
  bool delivering_ = false;
  std::jthread thread_;
};

}  // namespace winnow::events
