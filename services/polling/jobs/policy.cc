#include "services/polling/jobs/policy.h"

#include <algorithm>
#include <set>

#include "services/platform/base/hash.h"
#include "services/platform/base/text.h"

namespace winnow::polling {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::string Seconds(Micros duration) {
  const auto ms = std::chrono::duration_cast<milliseconds>(duration).count();
  std::string text = std::to_string(ms / 1000);
  if (ms % 1000 != 0) text += "." + std::to_string(1000 + ms % 1000).substr(1);
  return text + "s";
}

void CheckDuration(const std::string& field, Micros value, Micros least, Micros most,
                   Violations& violations) {
  if (value >= least && value <= most) return;
  violations.Add(field,
                 "is " + Seconds(value) + ": must be " + Seconds(least) + " to " + Seconds(most));
}

void CheckCount(const std::string& field, int value, int most, Violations& violations) {
  if (value >= 1 && value <= most) return;
  violations.Add(field, "is " + std::to_string(value) + ": must be 1 to " + std::to_string(most));
}

void CheckStates(const Policy& policy, const std::string& prefix, Violations& violations) {
  if (policy.states.empty() || policy.states.size() > kMaxStates) {
    violations.Add(prefix + "states",
                   "has " + std::to_string(policy.states.size()) + " entries: name 1 to 32 states");
  }
  std::set<std::string_view> seen;
  for (size_t i = 0; i < policy.states.size(); ++i) {
    const std::string field = prefix + "states[" + std::to_string(i) + "]";
    if (!IsSlug(policy.states[i])) violations.Add(field, "must be [a-z0-9-], 1 to 64 characters");
    if (!seen.insert(policy.states[i]).second) violations.Add(field, "is named twice");
  }
  if (policy.transitions.size() > kMaxStates * kMaxStates) {
    violations.Add(prefix + "transitions", "has more than 1,024 entries");
    return;
  }
  for (size_t i = 0; i < policy.transitions.size(); ++i) {
    const std::string field = prefix + "transitions[" + std::to_string(i) + "]";
    const auto& [from, to] = policy.transitions[i];
    if (!HasState(policy, from)) violations.Add(field + ".from", "is none of the states");
    if (!HasState(policy, to)) violations.Add(field + ".to", "is none of the states");
    if (from == to) violations.Add(field, "leads to the same state: leave it out");
  }
}

// In [0, 1), the same for the same job and count.
double Spread(std::string_view id, int64_t count) {
  const uint64_t bits = Hash64(id, static_cast<uint64_t>(count));
  return static_cast<double>(bits >> 11) / static_cast<double>(uint64_t{1} << 53);
}

Micros Share(Micros duration, double share) {
  return Micros(static_cast<int64_t>(static_cast<double>(duration.count()) * share));
}

}  // namespace

void Validate(const Policy& policy, const std::string& prefix, Violations& violations) {
  CheckStates(policy, prefix, violations);
  CheckDuration(prefix + "lease", policy.lease, seconds(1), hours(1), violations);
  CheckDuration(prefix + "no_progress", policy.no_progress, policy.lease, hours(24 * 7),
                violations);
  CheckDuration(prefix + "deadline", policy.deadline, seconds(1), hours(24 * 30), violations);
  CheckDuration(prefix + "sweep_interval", policy.sweep_interval, milliseconds(100), hours(24),
                violations);
  CheckDuration(prefix + "poll_interval", policy.poll_interval, milliseconds(10), hours(24),
                violations);
  CheckDuration(prefix + "backoff_base", policy.backoff_base, milliseconds(10), hours(1),
                violations);
  CheckDuration(prefix + "backoff_max", policy.backoff_max, policy.backoff_base, hours(24),
                violations);
  CheckDuration(prefix + "retention", policy.retention, hours(1), hours(24 * 3650), violations);
  CheckCount(prefix + "max_attempts", policy.max_attempts, 10'000, violations);
  CheckCount(prefix + "max_losses", policy.max_losses, 1'000, violations);
  const bool plain = std::all_of(policy.view_prefix.begin(), policy.view_prefix.end(),
                                 [](char c) { return c > ' ' && c < 0x7f; });
  if (!plain || policy.view_prefix.size() > 128) {
    violations.Add(prefix + "view_prefix", "must be printable ASCII, at most 128 characters");
  }
  if (policy.view_prefix.starts_with("winnow:")) {
    violations.Add(prefix + "view_prefix", "must not begin with winnow:, which is Winnow's own");
  }
}

bool HasState(const Policy& policy, std::string_view state) {
  return std::find(policy.states.begin(), policy.states.end(), state) != policy.states.end();
}

bool MayTransition(const Policy& policy, std::string_view from, std::string_view to) {
  return std::any_of(policy.transitions.begin(), policy.transitions.end(),
                     [&](const auto& edge) { return edge.first == from && edge.second == to; });
}

Micros Backoff(const Policy& policy, std::string_view id, int failures) {
  Micros delay = policy.backoff_base;
  for (int i = 1; i < failures && delay < policy.backoff_max; ++i) delay *= 2;
  delay = std::min(delay, policy.backoff_max);
  return delay / 2 + Share(delay / 2, Spread(id, failures));
}

Micros PollDelay(const Policy& policy, std::string_view id, int64_t token) {
  return policy.poll_interval - Share(policy.poll_interval / 5, Spread(id, token));
}

std::string Describe(const Policy& policy) {
  std::string text = "states=";
  for (const std::string& state : policy.states) text += state + ",";
  text.back() = ' ';
  text += "transitions=";
  for (const auto& [from, to] : policy.transitions) text += from + ">" + to + ",";
  if (text.back() == ',') text.pop_back();
  return text + " lease=" + Seconds(policy.lease) + " no_progress=" + Seconds(policy.no_progress) +
         " deadline=" + Seconds(policy.deadline) +
         " sweep_interval=" + Seconds(policy.sweep_interval) +
         " poll_interval=" + Seconds(policy.poll_interval) +
         " backoff=" + Seconds(policy.backoff_base) + ".." + Seconds(policy.backoff_max) +
         " max_attempts=" + std::to_string(policy.max_attempts) +
         " max_losses=" + std::to_string(policy.max_losses) +
         " retention=" + Seconds(policy.retention) + " view_prefix=" + policy.view_prefix;
}

KindClock Pause(const KindClock& clock, Time now) {
  return clock.is_paused() ? clock : KindClock{now, clock.paused};
}

KindClock Resume(const KindClock& clock, Time now) {
  if (!clock.is_paused()) return clock;
  // A clock that was set back meanwhile must not make kind time run ahead.
  return {std::nullopt, clock.paused + std::max(now - *clock.pause_time, Micros(0))};
}

}  // namespace winnow::polling
