#include "tests/sim/polling/sim_store.h"

#include <algorithm>

namespace winnow::polling::sim {
namespace {

using std::chrono::minutes;

constexpr Time kBegin = std::chrono::sys_days(std::chrono::year(2026) / 1 / 30);
constexpr minutes kStatusLives(30);

}  // namespace

SimStore::SimStore(Policy policy, Defect defect)
    : policy_(std::move(policy)), defect_(defect), now_(kBegin) {}

Status SimStore::Register(const std::string& id, const std::string& request) {
  if (records_.contains(id)) return OkStatus();
  auto outcome = polling::Register({"stt", id}, policy_.states[0], "", {}, request, rules(), now_);
  if (!outcome.ok()) return outcome.status();
  Keep(records_[id], *std::move(outcome));
  return OkStatus();
}

StatusOr<Outcome> SimStore::Do(const std::string& id, const Command& command,
                               const std::string& request, int steps) {
  const auto found = records_.find(id);
  if (found == records_.end()) return NotFound("job", id);
  Record& record = found->second;
  if (steps == 0) {
    return Unavailable(Reason::kStoreUnavailable, "the caller died before it sent the command",
                       std::chrono::milliseconds(0));
  }
  auto outcome = Apply(record.job, command, request, rules(), now_);
  if (!outcome.ok()) return outcome;
  if (defect_ == Defect::kTransientNeverCounts && std::holds_alternative<command::Fail>(command) &&
      outcome->job.phase != Phase::kFailed) {
    outcome->job.failures = record.job.failures;
    outcome->job.ready_time = now_;
    outcome->job.phase = Phase::kWaiting;
  }
  const bool moves = outcome->job.state != record.job.state;
  if (defect_ == Defect::kTransitionInFourSteps && moves && steps < 4) {
    if (steps >= 1) record.listed.erase(record.job.state);
    if (steps >= 2) record.job = outcome->job;
    if (steps >= 3) record.listed.insert(outcome->job.state);
    return outcome;
  }
  Keep(record, *outcome);
  return outcome;
}

bool SimStore::MayClaim(const Job& job) const {
  if (!IsInFlight(job.phase)) return false;
  if (defect_ == Defect::kNoClaim) return true;
  if (defect_ == Defect::kLossyExpiry && job.phase == Phase::kLeased) return false;
  return job.ready_time <= now_;
}

// The ids that a claim may take, first those that wait longest.
std::vector<std::string> SimStore::Due() const {
  std::vector<std::string> ids;
  for (const auto& [id, record] : records_) {
    if (MayClaim(record.job)) ids.push_back(id);
  }
  const auto ready = [this](const std::string& id) { return records_.at(id).job.ready_time; };
  std::stable_sort(ids.begin(), ids.end(), [&](const std::string& a, const std::string& b) {
    return defect_ == Defect::kTailStarves ? ready(a) > ready(b) : ready(a) < ready(b);
  });
  return ids;
}

std::vector<Claimed> SimStore::Claim(const std::string& owner, int limit) {
  std::vector<Claimed> claimed;
  if (clock_.is_paused()) return claimed;
  for (const std::string& id : Due()) {
    if (std::ssize(claimed) == limit) break;
    Record& record = records_.at(id);
    if (defect_ == Defect::kNoClaim) {
      claimed.push_back({id, record.job.state, record.job.token, now_ + policy_.lease});
      continue;
    }
    const int64_t token = last_token_ + 1;
    auto outcome = Apply(record.job, command::Claim{token, owner}, "", rules(), now_);
    if (!outcome.ok()) continue;
    const bool got = outcome->job.token == token;
    Keep(record, *std::move(outcome));
    if (!got) continue;
    last_token_ = token;
    const Job& job = record.job;
    claimed.push_back({id, job.state, token, job.ready_time});
    if (defect_ == Defect::kStateFromTheView) {
      const auto seen = view_.find(id);
      claimed.back().state = seen == view_.end() ? "" : seen->second;
    }
  }
  return claimed;
}

Job SimStore::AsTheSweepSeesIt(const Job& job) const {
  Job seen = job;
  if (defect_ == Defect::kAgeIsStaleness) seen.progressed = job.entered;
  // The message that announced the end of the lease is gone.
  if (defect_ == Defect::kLossyExpiry)
    seen.ready_time = std::max(seen.ready_time, now_ + Micros(1));
  return seen;
}

std::vector<std::string> SimStore::Sweep(int batch) {
  std::vector<std::string> swept;
  int in_batch = 0;
  do {
    in_batch = 0;
    for (auto& [id, record] : records_) {
      if (in_batch == batch) break;
      auto outcome = Apply(AsTheSweepSeesIt(record.job), command::Sweep{}, "", rules(), now_);
      if (!outcome.ok() || outcome->events.empty()) continue;
      ++in_batch;
      swept.push_back(id);
      if (defect_ == Defect::kSilentDrop) outcome->events.clear();
      Keep(record, *std::move(outcome));
    }
  } while (in_batch == batch);
  return swept;
}

void SimStore::Keep(Record& record, Outcome outcome) {
  record.job = std::move(outcome.job);
  for (JobEvent& event : outcome.events) record.history.push_back(std::move(event));
  List(record);
}

void SimStore::List(Record& record) {
  record.listed.clear();
  if (IsInFlight(record.job.phase)) record.listed.insert(record.job.state);
}

void SimStore::Purge(const std::string& id) {
  const auto found = records_.find(id);
  if (found != records_.end() && !IsInFlight(found->second.job.phase)) records_.erase(found);
}

void SimStore::MoveClock(Micros by) {
  now_ += by;
  if (defect_ != Defect::kStatusExpires) return;
  for (auto& [id, record] : records_) {
    if (record.job.state_time + kStatusLives <= now_) record.has_status = false;
  }
}

void SimStore::RepairView() {
  view_.clear();
  for (const auto& [id, record] : records_) {
    if (IsInFlight(record.job.phase)) view_[id] = record.job.state;
  }
}

}  // namespace winnow::polling::sim
