#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/platform/base/status.h"
#include "winnow/events/v1/events.pb.h"

namespace winnow::events {

using Envelope = ::winnow::events::v1::Envelope;

// A service's interest in one event. Its queue is named winnow.<service>.<event>.v1.
struct Consumer {
  std::string service;  // "dedup"
  std::string event;    // full message name: "winnow.events.v1.ItemCollected"
  // Takes 1 to `max_batch` envelopes at once and answers one status each, in order: OK is done,
  // others come again with backoff or are dead letters, as VerdictOf says. Must be idempotent. One
  // call at a time per consumer and process. An exception or DEADLINE_EXCEEDED brings the batch's
  // events again one by one.
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
  kTimedOut,    // something is slow (DEADLINE_EXCEEDED), the event or what its consumer needs:
                // counts only where it was delivered alone and, since its last try, others of its
                // queue were done
  kDead,
};
Verdict VerdictOf(const Status& status);

}  // namespace winnow::events
