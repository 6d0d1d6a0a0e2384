#pragma once

#include <span>
#include <string>

#include "services/platform/postgres/session/session.h"
#include "services/polling/jobs/job_records.h"
#include "services/polling/jobs/machine.h"

// What the files of the store share: rows of jobs, rules and history.
namespace winnow::polling {

inline constexpr int kJobColumns = 20;
Job ToJob(const pqxx::row& row);

inline constexpr int kEventColumns = 14;
NumberedEvent ToEvent(const pqxx::row& row);

// A kind as it is now.
struct KindNow {
  Policy policy;
  int64_t version = 0;
  KindClock clock;
  Time now;  // the store's
};
// Within the transaction, states that a job enters here are not taken out of a policy: before it is
// read.
void KeepPolicies(pg::Session& session);
// NOT_FOUND.
StatusOr<KindNow> ReadKind(pg::Session& session, const std::string& kind);

inline constexpr int kPolicyColumns = 15;
Policy ToPolicy(const pqxx::row& row, int first);

// Writes what a command made of a job that is locked: the row, its history, and JobStale events.
void WriteOutcome(pg::Session& session, const Outcome& outcome, Time now);

// A JobStale event of each.
void AppendStale(pg::Session& session, const std::string& kind, std::span<const StaleJob> jobs,
                 Time now);

}  // namespace winnow::polling
