#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/platform/status.h"
#include "winnow/events/v1/events.pb.h"

namespace winnow::events {

using Envelope = ::winnow::events::v1::Envelope;

// A service's interest in one event. Its queue is named winnow.<service>.<event>.v1.
struct Consumer {
  std::string service;  // "dedup"
  std::string event;    // full message name: "winnow.events.v1.ItemCollected"
  // Takes 1 to `max_batch` envelopes at once and answers one status each, in order: OK is done,
  // UNAVAILABLE, ABORTED, RESOURCE_EXHAUSTED and DEADLINE_EXCEEDED come again later with backoff,
  // anything else is dead letter at once. Must be idempotent. One call at a time per consumer and
  // process. An exception brings the batch's events again one by one, and one that throws alone is
  // dead letter.
  std::function<std::vector<Status>(std::span<const Envelope>)> deliver;
  int max_batch = 500;
};

// The full message name of what the envelope carries; empty when it carries nothing known.
std::string EventName(const Envelope& envelope);
// Whether an envelope of this binary's schema can carry `event`.
bool IsKnownEvent(std::string_view event);

// What becomes of an event after a delivery.
enum class Verdict {
  kDone,
  kRetry,       // counts against max_deliveries
  kRetryLater,  // the consumer cannot now (UNAVAILABLE, RESOURCE_EXHAUSTED): not the event's fault,
                // so an outage of any length makes no dead letters
  kDead,
};
Verdict VerdictOf(const Status& status);

}  // namespace winnow::events
