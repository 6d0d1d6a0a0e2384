#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/platform/postgres/session/session.h"
#include "services/polling/jobs/job_records.h"
#include "services/polling/jobs/machine.h"

// What the files of the store share: rows of jobs, rules and history.
namespace winnow::polling {

// Columns of a job under the alias j, and back.
#define WINNOW_JOB_COLUMNS                                                                 \
  "j.kind, j.id, j.state, j.phase, j.payload, j.create_time, j.state_time, j.ready_time, " \
  "j.entered, j.progressed, j.token, j.owner, j.failures, j.losses, j.cancel_requested, "  \
  "j.reason, j.percent, j.note, j.result, j.last_request"
// The same without payload and result, for lists and what follows a command.
#define WINNOW_JOB_COLUMNS_BARE                                                            \
  "j.kind, j.id, j.state, j.phase, ''::bytea, j.create_time, j.state_time, j.ready_time, " \
  "j.entered, j.progressed, j.token, j.owner, j.failures, j.losses, j.cancel_requested, "  \
  "j.reason, j.percent, j.note, ''::bytea, j.last_request"
inline constexpr int kJobColumns = 20;
Job ToJob(const pqxx::row& row);

// A row of history and back.
#define WINNOW_EVENT_COLUMNS                                                                  \
  "number, event_time, kind, id, change, reason, from_state, to_state, phase, token, owner, " \
  "note, request, actor"
inline constexpr int kEventColumns = 14;
NumberedEvent ToEvent(const pqxx::row& row);

// The rules of a kind and the time, once for a statement: k. $1 is the kind.
#define WINNOW_KIND_NOW                                                                    \
  "t AS MATERIALIZED (SELECT polling.now() AS now), "                                      \
  "k AS MATERIALIZED (SELECT t.now, k.pause_time IS NOT NULL AS is_paused, "               \
  "  coalesce(k.pause_time, t.now) - k.paused_us * interval '1 microsecond' AS kind_now, " \
  "  p.lease_us * interval '1 microsecond' AS lease, p.max_losses, "                       \
  "  p.no_progress_us * interval '1 microsecond' AS no_progress, "                         \
  "  p.deadline_us * interval '1 microsecond' AS deadline "                                \
  "  FROM t CROSS JOIN polling.kinds k "                                                   \
  "  JOIN polling.policies p ON p.kind = k.kind AND p.version = k.version WHERE k.kind = $1)"

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

// An advisory lock: exclusive for changes of policies, shared for transactions that rely on one.
#define WINNOW_POLICY_LOCK "hashtextextended('winnow.polling.policies', 0)"

#define WINNOW_POLICY_COLUMNS                                                                 \
  "p.version, p.states, p.transitions_from, p.transitions_to, p.lease_us, p.no_progress_us, " \
  "p.deadline_us, p.sweep_interval_us, p.poll_interval_us, p.backoff_base_us, "               \
  "p.backoff_max_us, p.max_attempts, p.max_losses, p.view_prefix, p.retention_us"
inline constexpr int kPolicyColumns = 15;
Policy ToPolicy(const pqxx::row& row, int first);

// Writes what a command made of a job that is locked: the row, its history, and JobStale events.
void WriteOutcome(pg::Session& session, const Outcome& outcome, Time now);

// A JobStale event of each.
void AppendStale(pg::Session& session, const std::string& kind, std::span<const StaleJob> jobs,
                 Time now);

}  // namespace winnow::polling
