#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"

namespace winnow::polling {

inline constexpr size_t kMaxStates = 32;

// The rules of a kind. Durations are within the limits that Validate states.
struct Policy {
  std::vector<std::string> states;                               // 1 to 32, [a-z0-9-]{1,64}
  std::vector<std::pair<std::string, std::string>> transitions;  // from, to
  Micros lease = std::chrono::seconds(30);
  Micros no_progress = std::chrono::minutes(10);
  Micros deadline = std::chrono::minutes(60);        // in one state
  Micros sweep_interval = std::chrono::minutes(10);  // of no_progress and deadline
  Micros poll_interval = std::chrono::seconds(5);    // a reschedule that names no time
  Micros backoff_base = std::chrono::seconds(5);
  Micros backoff_max = std::chrono::minutes(5);
  int max_attempts = 20;    // transient failures in a row until it is buried
  int max_losses = 3;       // workers lost in a row until it is poison
  std::string view_prefix;  // Redis keys of the view: prefix + state; empty for no view
  Micros retention = std::chrono::hours(24 * 30);  // of ended jobs, other than buried ones

  friend bool operator==(const Policy&, const Policy&) = default;
};

// All that is wrong with it, as violations of `prefix` + field name.
void Validate(const Policy& policy, const std::string& prefix, Violations& violations);

bool HasState(const Policy& policy, std::string_view state);
bool MayTransition(const Policy& policy, std::string_view from, std::string_view to);

// How long to wait after the n-th transient failure in a row (n >= 1): doubles from backoff_base to
// backoff_max, the upper half of it spread by the job's id, so that the jobs of an outage do not
// come back together.
Micros Backoff(const Policy& policy, std::string_view id, int failures);

// poll_interval, spread by a fifth in the same way.
Micros PollDelay(const Policy& policy, std::string_view id, int64_t token);

// The policy as one line of text, for the audit.
std::string Describe(const Policy& policy);

// The time of a kind: stands still while it is paused, and goes on from there.
struct KindClock {
  std::optional<Time> pause_time;  // since when it is paused
  Micros paused{0};                // all finished pauses together

  bool is_paused() const { return pause_time.has_value(); }
  Time At(Time now) const { return pause_time.value_or(now) - paused; }

  friend bool operator==(const KindClock&, const KindClock&) = default;
};
KindClock Pause(const KindClock& clock, Time now);
KindClock Resume(const KindClock& clock, Time now);

}  // namespace winnow::polling
