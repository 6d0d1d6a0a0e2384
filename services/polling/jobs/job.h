#pragma once

#include <cstdint>
#include <string>

#include "services/platform/base/clock.h"

namespace winnow::polling {

// Where a job is. In flight: waiting or leased; the others are ends, which an operator may undo.
enum class Phase {
  kWaiting = 1,    // not leased; due at ready_time
  kLeased = 2,     // a worker has it until ready_time
  kBuried = 3,     // given up by a sweep, by max_attempts or by an operator
  kCompleted = 4,  // done
  kFailed = 5,     // a worker said that it can never be done
  kCancelled = 6,
};

inline bool IsInFlight(Phase phase) { return phase == Phase::kWaiting || phase == Phase::kLeased; }

// Why a job was taken from its worker, or given up.
enum class StaleReason {
  kNone = 0,
  kLeaseLost = 1,    // no heartbeat until the lease ended
  kNoProgress = 2,   // heartbeats, but no progress
  kDeadline = 3,     // too long in one state
  kMaxAttempts = 4,  // too many transient failures in a row
  kPoison = 5,       // too many workers lost in a row
};

// A row of the history.
enum class Change {
  kRegistered = 1,
  kTransitioned = 2,
  kAttemptFailed = 3,  // transient: it will be tried again
  kReturned = 4,       // taken from its worker, waiting again; with a reason
  kBuried = 5,         // with a reason, or none when an operator did it
  kCompleted = 6,
  kFailed = 7,
  kCancelRequested = 8,
  kCancelled = 9,
  kRequeued = 10,
};

struct JobKey {
  std::string kind;  // [a-z0-9-]{1,64}
  std::string id;    // as the owner names it; 1 to 128 bytes of [A-Za-z0-9._:-]
  friend bool operator==(const JobKey&, const JobKey&) = default;
  friend auto operator<=>(const JobKey&, const JobKey&) = default;
};

// Points in kind time stand still while the kind is paused (KindClock); the others are the store's
// time.
struct Job {
  JobKey key;
  std::string state;  // of the kind's policy: "processing"
  Phase phase = Phase::kWaiting;
  std::string payload;

  Time create_time;
  Time state_time;  // when it entered its state
  Time ready_time;  // waiting: due; leased: end of the lease; ended: when
  Time entered;     // kind time: the deadline's clock
  Time progressed;  // kind time: the no-progress clock

  int64_t token = 0;  // fencing token of the last claim; only grows
  std::string owner;  // who has the lease; empty unless leased
  int failures = 0;   // transient failures since the last good poll
  int losses = 0;     // workers lost since the last good poll
  bool cancel_requested = false;

  StaleReason reason = StaleReason::kNone;  // of a buried job
  int percent = 0;                          // progress as last reported
  std::string note;                         // what the worker last said: progress, or the error
  std::string result;                       // of a completed job
  std::string last_request;                 // RequestKey of the last command; empty for none

  friend bool operator==(const Job&, const Job&) = default;
};

// One row of history.
struct JobEvent {
  Change change;
  StaleReason reason = StaleReason::kNone;
  std::string from_state;
  std::string to_state;
  Phase phase = Phase::kWaiting;  // afterwards
  int64_t token = 0;              // of the worker who did it, or from whom it was taken
  std::string owner;
  std::string note;
  std::string request;  // request id; empty for sweeps
  std::string actor;    // who asked, where that was no worker

  friend bool operator==(const JobEvent&, const JobEvent&) = default;
};

}  // namespace winnow::polling
