#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "services/platform/events/amqp/amqp_connection.h"
#include "services/platform/events/core/consumer_queue.h"
#include "services/platform/process/metrics.h"

namespace winnow::events {

// Feeds one consumer from its queue, on a thread and connection of its own. A message is
// acknowledged when the consumer has it done. What the consumer cannot do is published to the dead
// letters, with the reason (which a rejection could not carry), and acknowledged when the broker
// has confirmed that. What is in flight when the connection is lost comes again, to the consumer
// that consumes then.
class AmqpSubscriber {
 public:
  AmqpSubscriber(AmqpAddress address, Consumer consumer, const QueueOptions& options,
                 Metrics& metrics);
  ~AmqpSubscriber();  // stops at once

  void Start();
  // Ends after the delivery that is running, which is acknowledged as far as the broker goes along
  // until `deadline` (or a fifth of a second, if that is later).
  void Stop(Deadline deadline);
  // Why nothing can be received now.
  Status health() const;

 private:
  class Inbox;  // the messages of one connection
  void Run();
  Status Connect();
  void Disconnect();
  Status Receive();
  void Accept(std::vector<AmqpConnection::Message> messages);
  Status Answer();
  Status Bury(uint64_t tag, const DeadLetter& dead);
  Status OnConfirmed(const AmqpConnection::Confirmed& confirmed);
  Status FinishBurials();
  void SetHealth(Status status);

  std::stop_source stop_;  // ends after the running delivery
  std::stop_source cut_;   // ends what waits for the broker
  const AmqpAddress address_;
  const std::string queue_name_;
  const std::string event_;
  const int prefetch_;
  Counter& reconnects_;
  ConsumerQueue queue_;

  // Of the thread, and of one connection.
  std::shared_ptr<Inbox> inbox_;
  std::map<uint64_t, AmqpConnection::Message> held_;  // unacknowledged ones, by delivery tag
  std::map<uint64_t, uint64_t> burials_;  // unconfirmed publications; the delivery of each
  uint64_t last_publication_ = 0;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::unique_ptr<AmqpConnection> connection_;  // made and ended by the thread
  Status health_;
  bool ended_ = true;  // the thread
  std::thread thread_;
};

}  // namespace winnow::events
