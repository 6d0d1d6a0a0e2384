#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "services/dedup/log/decision.h"
#include "services/dedup/text/document.h"
#include "services/dedup/text/fingerprint.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"

namespace winnow::dedup {

// A document that waits for its decision.
struct DecisionJob {
  Document document;  // accepted
  Fingerprint print;
  std::string lead;  // normalised
  // False for CheckDocument: decided as the namespace stands, and not remembered.
  bool is_remembered = true;
  // A model should have compared its meaning, but was not to be had in time.
  bool lacks_meaning = false;
  // Goes before those that came in bulk.
  bool is_urgent = false;
  // Consumers of the item's events learn of the decision by an event.
  bool is_item = false;
  std::string traceparent;
  // The caller's deadline; a job that has not begun by then is dropped.
  Deadline deadline;
  // When it came to the worker.
  std::chrono::steady_clock::time_point since{};
  // Called once, from any thread, by Answer.
  std::function<void(StatusOr<Decision>)> done;

  bool is_answered() const { return done == nullptr; }
  void Answer(StatusOr<Decision> decision) { std::exchange(done, nullptr)(std::move(decision)); }
};

}  // namespace winnow::dedup
