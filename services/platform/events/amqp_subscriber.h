#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "services/platform/events/amqp_connection.h"
#include "services/platform/events/consumer_queue.h"
#include "services/platform/metrics.h"

namespace winnow::events {

// Feeds one consumer from its queue, on a thread and connection of its own. A message is
// acknowledged when the consumer has it done, and rejected to the dead letters when it cannot; what
// is in flight when the connection is lost comes again, to whoever consumes then.
class AmqpSubscriber {
 public:
  AmqpSubscriber(AmqpAddress address, Consumer consumer, const QueueOptions& options,
                 Metrics& metrics);
  ~AmqpSubscriber();  // stops

  void Start();
  // Ends after the delivery that is running, which is acknowledged.
  void Stop();
  // Why nothing can be received now.
  Status health() const;

 private:
  class Inbox;  // the messages of one connection
  void Run();
  Status Connect();
  Status Receive();
  void Accept(std::vector<AmqpConnection::Message> messages);
  Status Answer();
  bool Pause(std::chrono::milliseconds longest);
  void SetHealth(Status status);

  const AmqpAddress address_;
  const std::string queue_name_;
  const std::string event_;
  const int prefetch_;
  Counter& reconnects_;
  ConsumerQueue queue_;
  std::shared_ptr<Inbox> inbox_;  // of the thread

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::unique_ptr<AmqpConnection> connection_;  // made and ended by the thread
  Status health_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace winnow::events
