#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/polling/job.h"
#include "services/polling/policy.h"

// What callers ask of the store, and what it answers.
namespace winnow::polling {

// "lease_lost": what events, metrics and people call it; "" for none.
std::string NameOf(StaleReason reason);

struct NewJob {
  std::string id;
  std::string state;  // empty: the policy's first
  std::string payload;
  Micros delay{0};
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

struct Beat {
  bool lost = true;
  bool cancel_requested = false;
  Time lease_end;
};

// Which clocks a sweep looks at.
enum class SweepClock { kLease, kNoProgress, kDeadline };

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

}  // namespace winnow::polling
