#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "services/platform/base/status.h"
#include "services/polling/jobs/job.h"
#include "services/polling/jobs/policy.h"

// The rules of the registry: (job, command, now) -> (job, events), without I/O. The store runs the
// commands of single jobs through it, and its set-based statements (claim, heartbeat, sweep) do the
// same to many, which tests prove on PostgreSQL.
namespace winnow::polling {

namespace command {

// Of the worker that holds the lease: refused unless `token` is the job's and the job is leased. A
// lease that has ended but was not yet taken away still holds.
struct Heartbeat {
  int64_t token = 0;
};
struct Progress {
  int64_t token = 0;
  int percent = 0;
  std::string note;
};
// Not finished at the provider: poll again after `delay`, or the policy's poll_interval.
struct Reschedule {
  int64_t token = 0;
  std::optional<Micros> delay;
};
// Into another state. Keeps the lease, or gives it back for `delay`.
struct Transition {
  int64_t token = 0;
  std::string to;
  std::optional<Micros> delay;
};
struct Complete {
  int64_t token = 0;
  std::string result;
};
struct Fail {
  int64_t token = 0;
  bool fatal = false;
  std::string error;
  Micros retry_after{0};  // what the provider asked for, at least
};
struct Release {
  int64_t token = 0;
};
// With the token: the worker confirms. Without: at once for a waiting job; a leased one is asked
// to.
struct Cancel {
  std::optional<int64_t> token;
  std::string note;
  std::string actor{};
};

// A due or lost job to a worker. `token` is larger than any before.
struct Claim {
  int64_t token = 0;
  std::string owner;
};
// Whatever has gone stale.
struct Sweep {};

// Operators'.
struct Requeue {
  std::string note;
  std::string actor{};
};
struct Bury {
  std::string note;
  std::string actor{};
};

}  // namespace command

using Command =
    std::variant<command::Heartbeat, command::Progress, command::Reschedule, command::Transition,
                 command::Complete, command::Fail, command::Release, command::Cancel,
                 command::Claim, command::Sweep, command::Requeue, command::Bury>;

// A job as another registry has it.
struct JobToImport {
  std::string id;
  std::string state;
  Time state_time;
  std::string payload;
};

// Who imports, and why: for history.
struct ImportNote {
  std::string actor;
  std::string note;
  std::string request;
};

struct Rules {
  const Policy& policy;
  const KindClock& clock;
};

struct Outcome {
  Job job;
  std::vector<JobEvent> events;  // at most 2, in order
};

// A new job. Error: INVALID_ARGUMENT for a state that the kind does not have.
StatusOr<Outcome> Register(const JobKey& key, std::string state, std::string payload,
                           std::optional<Micros> delay, const std::string& request,
                           const Rules& rules, Time now);

// A job that another registry has in flight: it waits, due at once, in a state that it entered at
// `state_time`. A pause of the kind stops its clocks at the age that it has. Errors:
// INVALID_ARGUMENT for a state that the kind does not have, and for a time that is more than
// kMaxImportLead ahead or kMaxImportAge ago.
inline constexpr Micros kMaxImportLead = std::chrono::minutes(1);
inline constexpr Micros kMaxImportAge = std::chrono::hours(24 * 365);
StatusOr<Outcome> Import(const std::string& kind, const JobToImport& from, const ImportNote& note,
                         const Rules& rules, Time now);

// What the command does to the job. The last command sent again, by its request id, does nothing:
// it was done. Errors: FAILED_PRECONDITION when the job's phase forbids it, or (STALE_TOKEN) when a
// worker lost the job; INVALID_ARGUMENT for a transition that the policy does not have. A claim or
// sweep with nothing to do changes nothing.
StatusOr<Outcome> Apply(const Job& job, const Command& command, const std::string& request,
                        const Rules& rules, Time now);

// A request id is one command's: two commands with one id are not the same. Empty for none.
std::string RequestKey(const Command& command, const std::string& request);
// Rows of history that record the command; none if it leaves no row.
std::vector<Change> ChangesOf(const Command& command);

// Whether a command of a worker comes from one that lost the job.
bool IsFenced(const Job& job, const Command& command);

}  // namespace winnow::polling
