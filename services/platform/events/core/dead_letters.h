#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/process/metrics.h"

namespace winnow::events {

// Dead letters that one call replays, purges or counts, at most.
inline constexpr size_t kMaxDeadLetters = 10'000;

// Where a listing goes on: in process (schema, row, consumer), over a broker (queue, time, id).
struct DeadLetterKey {
  std::string source;
  int64_t number = 0;
  std::string text;
  friend auto operator<=>(const DeadLetterKey&, const DeadLetterKey&) = default;
};

// An event that a consumer could not take. The fields are those of winnow.events.v1.DeadLetter.
struct DeadLetterRecord {
  DeadLetterKey key;
  std::string id;
  std::string queue;
  std::string event;
  std::string event_id;
  std::string ns;
  std::string reason;
  int attempts = 0;
  std::optional<Time> occur_time;
  Time dead_time{};
  size_t size = 0;  // bytes
};

// Which ones are meant: those for which all that is set holds.
struct DeadLetterSelection {
  std::vector<std::string> ids;
  std::string queue;
  std::string event;
};

enum class DeadLetterAction { kCount, kReplay, kPurge };

struct DeadLetterOutcome {
  size_t count = 0;
  std::vector<std::string> missing_ids;
  bool limit_reached = false;
};

// The dead letters of a transport. Two implementations: rows beside the outboxes
// (outbox_dead_letters.h), and queues of RabbitMQ (amqp_dead_letters.h). Any thread.
class DeadLetters {
 public:
  virtual ~DeadLetters() = default;
  // In order of their keys, those after `after`; of the selection's ids none may be set.
  virtual StatusOr<std::vector<DeadLetterRecord>> List(Deadline deadline,
                                                       const DeadLetterSelection& selection,
                                                       const std::optional<DeadLetterKey>& after,
                                                       size_t limit) = 0;
  // At most kMaxDeadLetters.
  virtual StatusOr<DeadLetterOutcome> Apply(Deadline deadline, const DeadLetterSelection& selection,
                                            DeadLetterAction action) = 0;
};

// Fills in the fields read from a stored envelope; nothing where it cannot be read.
void DescribeEnvelope(const std::string& envelope, DeadLetterRecord& record);

// A reason as it is kept: valid UTF-8 of at most 1,024 bytes.
std::string KeptReason(std::string reason);

// How many there are at `place`: "<schema>.outbox", or a queue.
Gauge& DeadLettersGauge(Metrics& metrics, const std::string& place);

}  // namespace winnow::events
