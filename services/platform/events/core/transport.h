#pragma once

#include <chrono>
#include <string>

#include "services/platform/base/clock.h"
#include "services/platform/events/core/consumer.h"
#include "services/platform/events/core/dead_letters.h"

namespace winnow::events {

// After the deadline of its Stop a transport gives back its outboxes, so that another process has
// them at once. For so long its pool is still to answer.
inline constexpr std::chrono::milliseconds kStopGrace{500};

// How events travel from the outboxes to the consumers. Two implementations: in process
// (in_process_transport.h), and RabbitMQ.
class Transport {
 public:
  virtual ~Transport() = default;
  // Before Start. A consumer gets every event of its name, whichever outbox it is from.
  virtual void AddConsumer(Consumer consumer) = 0;
  // Declares that this process writes to the outbox of `schema`, which is to be drained.
  virtual void AddProducer(const std::string& schema) = 0;
  virtual Status Start() = 0;
  // Delivers what is in flight, at most until `deadline`, and stops, kStopGrace later at most. What
  // is left stays in the outbox.
  virtual void Stop(Deadline deadline) = 0;
  // There may be new rows in the outbox of `schema`: called after a commit.
  virtual void Wake(const std::string& schema) = 0;
  // A health probe: OK when events can travel.
  virtual Status Check() = 0;
  // What its consumers could not take. Lives as long as the transport.
  virtual DeadLetters& dead_letters() = 0;
};

}  // namespace winnow::events
