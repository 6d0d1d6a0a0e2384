#pragma once

#include <mutex>
#include <stop_token>
#include <vector>

#include "services/platform/events/amqp/amqp_connection.h"
#include "services/platform/events/core/dead_letters.h"

namespace winnow::events {

// The dead letters on a broker: messages of the queues "<queue>.dead". A queue can only be read
// from its front, so that each call takes its messages, settles those that it means and gives the
// others back. A replay publishes to the queue that the message came from, and to no other.
class AmqpDeadLetters final : public DeadLetters {
 public:
  explicit AmqpDeadLetters(AmqpAddress address) : address_(std::move(address)) {}

  StatusOr<std::vector<DeadLetterRecord>> List(Deadline deadline,
                                               const DeadLetterSelection& selection,
                                               const std::optional<DeadLetterKey>& after,
                                               size_t limit) override;
  StatusOr<DeadLetterOutcome> Apply(Deadline deadline, const DeadLetterSelection& selection,
                                    DeadLetterAction action) override;
  // Calls that run or come end with an error, at once.
  void Stop() { stop_.request_stop(); }

 private:
  const AmqpAddress address_;
  std::stop_source stop_;
  std::timed_mutex one_at_a_time_;  // two calls at once would each see a part
};

}  // namespace winnow::events
