#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "services/polling/jobs/job.h"
#include "services/polling/jobs/policy.h"

// What callers ask of the store, and what it answers.
namespace winnow::polling {

// "lease_lost": what events, metrics and people call it; "" for none.
std::string NameOf(StaleReason reason);

// "waiting".
std::string NameOf(Phase phase);

struct NewJob {
  std::string id;
  std::string state;  // empty: the policy's first
  std::string payload;
  Micros delay{0};
};

// What an import did with a job.
struct ImportResult {
  bool created = false;  // or would be, in a dry run; false: it was here already
  std::string state;     // here
  Phase phase = Phase::kWaiting;
  friend bool operator==(const ImportResult&, const ImportResult&) = default;
};

struct ClaimQuery {
  std::string kind;
  std::string owner;
  int count = 1;
};

// A job that was taken from its worker, or given up.
struct StaleJob {
  std::string id;
  std::string state;
  StaleReason reason = StaleReason::kNone;
  bool is_buried = false;
  std::string owner;  // who had it
  int64_t token = 0;
};

// What a claim did, the jobs that it found poisoned or cancelled included.
struct ClaimResult {
  std::vector<Job> jobs;
  int64_t touched = 0;
  std::vector<StaleJob> stale;  // those that were taken from a worker first
};

struct HeldJob {
  std::string id;
  int64_t token = 0;
};

struct HeartbeatResult {
  bool lost = true;
  bool cancel_requested = false;
  Time lease_end;
};

// Which clocks a sweep looks at.
enum class SweepClock { kLease, kNoProgress, kDeadline };

// One version of a kind's rules.
struct PolicyVersion {
  std::string kind;
  int64_t version = 0;
  Policy policy;
  std::string actor;
  std::string note;
  Time create_time;
};

// Rules made of other rules.
using PolicyChange = std::function<Policy(const Policy&)>;

struct PolicyUpdate {
  std::string kind;
  std::optional<int64_t> base;  // the version that was read
  PolicyChange apply;
  std::string actor;
  std::string note;
  std::string request_id;
};

// Jobs that a sweep would take.
struct WouldSweep {
  StaleReason reason = StaleReason::kNone;
  int64_t count = 0;
  std::vector<std::string> ids;
};

struct KindToSweep {
  std::string kind;
  bool is_due = false;  // its no-progress and deadline clocks are to be looked at
};

struct KindStats {
  struct Count {
    std::string state;
    Phase phase = Phase::kWaiting;
    int64_t count = 0;
    Time oldest;  // entry into the state
    std::optional<Time> due_since;
  };
  std::string kind;
  int64_t version = 0;
  std::vector<std::string> states;
  KindClock clock;
  Time now;
  std::vector<Count> counts;

  // How long the due job that waits longest has been due.
  Micros DueLag() const;
};

// Who does something, and why: for the audit.
struct AuditNote {
  std::string actor;
  std::string note;
  std::string request_id{};  // empty for none
};

struct PurgeQuery {
  std::string kind;
  std::vector<Phase> phases;
  Micros min_age{0};
  int count = 1000;
  bool dry_run = false;
};

// What an operator's verb did to many jobs.
struct Touched {
  int64_t count = 0;
  std::vector<std::string> ids;  // the first 100
};

// Where history ends now; of another epoch, no position holds.
struct HistoryHead {
  int64_t position = 0;
  std::string epoch;
};

// A kind that has a view in Redis.
struct ViewOfKind {
  std::string kind;
  std::string prefix;
  std::vector<std::string> states;
};

// What the view shows of a job.
struct ShownJob {
  std::string state;
  int64_t entered_ms = 0;
  friend bool operator==(const ShownJob&, const ShownJob&) = default;
};

struct WatchQuery {
  std::string kind;
  std::string id;                // empty: all
  std::optional<int64_t> after;  // none: from now on
  std::string epoch;             // of the history that `after` counts in; empty: of none yet

  bool Covers(const JobKey& key) const { return key.kind == kind && (id.empty() || key.id == id); }
};

struct ListQuery {
  std::string kind;
  std::string state;
  std::optional<Phase> phase;
  std::string owner;
  Micros min_age{0};
  std::string after;  // id
  int count = 50;
};

struct NumberedEvent {
  int64_t number = 0;
  Time time;
  JobKey key;
  JobEvent event;
};

// Of the history that watches and the view follow.
struct PlacedEvent {
  NumberedEvent event;
  int64_t position = 0;
};

}  // namespace winnow::polling
