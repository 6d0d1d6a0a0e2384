#include "tests/sim/polling/sim_laws.h"

#include <algorithm>

namespace winnow::polling::sim {

void Laws::Moved(Micros by) {
  if (store_.clock().is_paused()) {
    paused_moves_ += by;
  } else {
    kind_time_ += by;
  }
}

// A pause that ended before it began, because the clock was set back, gives that time back.
void Laws::Resumed() {
  kind_time_ += std::min(paused_moves_, Micros(0));
  paused_moves_ = Micros(0);
}

void Laws::BeforeClaim() {
  due_before_.clear();
  for (const auto& [id, record] : store_.records()) {
    const Job& job = record.job;
    if (IsInFlight(job.phase) && job.ready_time <= store_.now()) due_before_[id] = job.ready_time;
  }
}

void Laws::AfterClaim(const std::string& worker, const std::vector<Claimed>& claimed) {
  Time latest = Time::min();
  for (const Claimed& each : claimed) {
    const Record& record = store_.records().at(each.id);
    Known& known = known_[each.id];
    // What was taken from the last holder is judged by what that one was promised.
    CheckNewHistory(record, known);
    known.history = record.history.size();
    if (!known.holder.empty() && known.until > store_.now()) {
      Break("no two workers are promised one job at a time");
    }
    if (each.token <= known.token) Break("tokens grow");
    if (each.state != record.job.state) Break("a claim hands out the state that is true");
    if (each.until > store_.now() + store_.policy().lease) Break("a lease is as long as it is");
    const auto due = due_before_.find(each.id);
    if (due == due_before_.end()) {
      Break("only due and lost jobs are claimed");
    } else {
      latest = std::max(latest, due->second);
    }
    known.holder = worker;
    known.until = each.until;
    known.kind_progressed = std::max(known.kind_progressed, KindNow());
  }
  for (const auto& [id, due] : due_before_) {
    const Job& job = store_.records().at(id).job;
    const bool passed_over = IsInFlight(job.phase) && job.ready_time <= store_.now();
    if (passed_over && due < latest) Break("who waits longest is served first");
  }
}

void Laws::Answered(const std::string& id, const Command& command,
                    const StatusOr<Outcome>& outcome) {
  const auto found = store_.records().find(id);
  if (found == store_.records().end()) return;
  const Job& job = found->second.job;
  Known& known = known_[id];
  const bool held = known.phase == Phase::kLeased;
  const auto fenced = [&](int64_t token) { return !held || token != known.token; };
  std::visit(
      [&](const auto& each) {
        using T = std::decay_t<decltype(each)>;
        if constexpr (requires { each.token + 1; }) {
          if constexpr (!std::is_same_v<T, command::Claim>) {
            if (fenced(each.token) && outcome.ok()) Break("a zombie is refused");
          }
        }
        if constexpr (std::is_same_v<T, command::Progress> ||
                      std::is_same_v<T, command::Reschedule> ||
                      std::is_same_v<T, command::Transition>) {
          if (outcome.ok()) {
            known.kind_progressed = std::max(known.kind_progressed, KindNow());
            if (!std::is_same_v<T, command::Progress>) known.failures = 0;
          }
        }
        if constexpr (std::is_same_v<T, command::Requeue>) {
          if (outcome.ok()) {
            known.failures = 0;
            known.kind_entered = KindNow();
          }
        }
        if constexpr (std::is_same_v<T, command::Fail>) {
          if (!outcome.ok() || each.fatal) return;
          ++known.failures;
          const Policy& policy = store_.policy();
          Micros least = policy.backoff_base / 2;
          for (int i = 1; i < known.failures; ++i) least *= 2;
          least = std::min(least, policy.backoff_max / 2);
          if (job.phase == Phase::kWaiting && job.ready_time < store_.now() + least) {
            Break("an outage is not polled at full rate");
          }
          if (IsInFlight(job.phase) && known.failures >= policy.max_attempts) {
            Break("transient failures come to an end");
          }
        }
      },
      command);
  if (outcome.ok() && job.phase == Phase::kLeased) known.until = job.ready_time;
  if (job.phase != Phase::kLeased) known.holder.clear();
}

void Laws::Swept(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    if (!store_.records().contains(id)) Break("nothing vanishes in a sweep");
  }
  for (const auto& [id, known] : known_) {
    const auto found = store_.records().find(id);
    if (found == store_.records().end()) continue;
    const Job& job = found->second.job;
    if (job.phase == Phase::kLeased && known.until <= store_.now()) {
      Break("after a sweep no lost lease is left");
    }
    if (IsInFlight(job.phase) && known.kind_entered + store_.policy().deadline <= KindNow()) {
      Break("after a sweep nothing is past its deadline");
    }
  }
}

// A reason in history must be true.
void Laws::CheckNewHistory(const Record& record, const Known& known) {
  const Policy& policy = store_.policy();
  for (size_t i = known.history; i < record.history.size(); ++i) {
    const JobEvent& event = record.history[i];
    met_.changes.insert(event.change);
    met_.reasons.insert(event.reason);
    const bool lease_ended = known.until <= store_.now();
    const bool stuck = known.kind_progressed + policy.no_progress <= KindNow();
    if (event.reason == StaleReason::kLeaseLost && !lease_ended) {
      Break("no live job is swept");
    }
    if (event.reason == StaleReason::kNoProgress && !stuck) Break("no reporting job is swept");
    if (event.reason == StaleReason::kPoison && !lease_ended && !stuck) {
      Break("no live reporting job is poison");
    }
    if (event.reason == StaleReason::kDeadline &&
        known.kind_entered + policy.deadline > KindNow()) {
      Break("the deadline is what the policy says");
    }
  }
}

void Laws::Learn(const Record& record, Known& known) {
  const Job& job = record.job;
  if (job.state != known.state) known.kind_entered = KindNow();
  if (job.phase != Phase::kLeased) known.holder.clear();
  known.phase = job.phase;
  known.state = job.state;
  known.history = record.history.size();
  known.token = job.token;
}

void Laws::CheckOne(const std::string& id, const Record& record) {
  const Job& job = record.job;
  if (!record.has_status) Break("each id has a status");
  const std::set<std::string> expected =
      IsInFlight(job.phase) ? std::set<std::string>{job.state} : std::set<std::string>{};
  if (record.listed != expected) Break("each id is in exactly one state");
  const bool is_new = !known_.contains(id);
  Known& known = known_[id];
  if (is_new) known.kind_progressed = KindNow();
  if (job.token < known.token) Break("tokens grow");
  CheckNewHistory(record, known);
  const bool ended = !is_new && IsInFlight(known.phase) != IsInFlight(job.phase);
  if ((is_new || ended || job.state != known.state) && record.history.size() == known.history) {
    Break("nothing changes without a history row");
  }
  Learn(record, known);
}

std::string Laws::Check() {
  for (const auto& [id, known] : known_) {
    if (!store_.records().contains(id)) Break("nothing vanishes");
  }
  for (const auto& [id, record] : store_.records()) CheckOne(id, record);
  return broken_;
}

}  // namespace winnow::polling::sim
