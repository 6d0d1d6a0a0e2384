#pragma once

#include <memory>
#include <string>

#include "services/platform/events/amqp/amqp_connection.h"
#include "services/platform/events/core/consumer_queue.h"
#include "services/platform/events/core/relay.h"
#include "services/platform/events/core/transport.h"
#include "services/platform/postgres/pool/pool.h"
#include "services/platform/process/metrics.h"

namespace winnow::events {

struct AmqpOptions {
  AmqpAddress address;
  QueueOptions queue;
  RelayOptions relay;
};

// Events go from the outboxes to RabbitMQ and from its queues to the consumers: "amqp://". A row
// leaves its outbox when the broker has confirmed it. An unavailable broker is reported by Check
// and come back to by itself; Start does not wait for it.
class AmqpTransport final : public Transport {
 public:
  // `pool` and `metrics` outlive the transport.
  AmqpTransport(pg::Pool& pool, Metrics& metrics, AmqpOptions options);
  ~AmqpTransport() override;  // stops at once if Stop was not called

  void AddConsumer(Consumer consumer) override;
  void AddProducer(const std::string& schema) override;
  Status Start() override;
  // Also publishes what is still in the outboxes, as far as the deadline allows.
  void Stop(Deadline deadline) override;
  void Wake(const std::string& schema) override;
  Status Check() override;
  DeadLetters& dead_letters() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace winnow::events
