#include <algorithm>
#include <tuple>

#include "services/polling/jobs/job_sql.h"
#include "services/polling/jobs/job_store.h"

// Claims, heartbeats and sweeps: what the machine does to one job, in one statement for many. A
// property test holds both together, on PostgreSQL.
namespace winnow::polling {
namespace {

// What becomes of a row. The numbers stand in the statements below.
//   1 claimed, it waited          2 claimed, its lease was lost
//   3 buried as poison            4 cancelled, since that was asked for
//   5 waiting again               6 buried at its deadline
// History of the rows of `moved`, which carries fate, why (a StaleReason) and who had it before;
// a cancelled one is first taken from its worker. Operators and commands of the worker itself are
// reported by WriteOutcome.
#define WINNOW_TOLD                                                                               \
  "logged AS (INSERT INTO polling.job_events (kind, id, event_time, change, reason, from_state, " \
  "  to_state, phase, token, owner) "                                                             \
  "  SELECT $1, m.id, m.now, e.change, CASE m.fate WHEN 3 THEN 5 ELSE m.why * e.has_why END, "    \
  "  m.state, m.state, m.phase, m.old_token, m.old_owner FROM moved m "                           \
  "  JOIN (VALUES (2, 4, 1), (3, 5, 1), (4, 4, 1), (4, 9, 0), (5, 4, 1), (6, 5, 1)) "             \
  "    AS e(fate, change, has_why) ON e.fate = m.fate ORDER BY m.place, e.change) "

constexpr pg::Statement kClaim{
    "polling.claim",
    "WITH " WINNOW_KIND_NOW
    ", due AS MATERIALIZED (SELECT x.id, x.ready_time, x.token AS old_token, x.owner AS old_owner, "
    "  CASE WHEN x.phase = 1 THEN 1 WHEN x.cancel_requested THEN 4 "
    "    WHEN x.losses + 1 >= k.max_losses THEN 3 ELSE 2 END AS fate "
    "  FROM k CROSS JOIN LATERAL (SELECT y.id, y.ready_time, y.token, y.owner, y.phase, "
    "    y.cancel_requested, y.losses FROM polling.jobs y "
    "    WHERE y.kind = $1 AND y.phase <= 2 AND y.ready_time <= k.now "
    "    ORDER BY y.ready_time, y.id LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED) x "
    "  WHERE NOT k.is_paused), "
    "moved AS (UPDATE polling.jobs j SET "
    "  phase = CASE d.fate WHEN 3 THEN 3 WHEN 4 THEN 6 ELSE 2 END, "
    "  token = CASE WHEN d.fate <= 2 THEN nextval('polling.tokens') ELSE j.token END, "
    "  owner = CASE WHEN d.fate <= 2 THEN $2 ELSE '' END, "
    "  losses = j.losses + CASE WHEN d.fate = 1 THEN 0 ELSE 1 END, "
    "  reason = CASE WHEN d.fate = 3 THEN 5 ELSE j.reason END, "
    "  ready_time = CASE WHEN d.fate <= 2 THEN k.now + k.lease ELSE k.now END, "
    "  progressed = CASE WHEN d.fate <= 2 THEN greatest(j.progressed, k.kind_now) "
    "    ELSE j.progressed END "
    "  FROM due d CROSS JOIN k WHERE j.kind = $1 AND j.id = d.id "
    "  RETURNING " WINNOW_JOB_COLUMNS
    ", d.fate, 1 AS why, d.old_token, d.old_owner, d.ready_time AS place, k.now), " WINNOW_TOLD
    "SELECT " WINNOW_JOB_COLUMNS
    ", j.fate, j.old_token, j.old_owner, j.now FROM moved j "
    "ORDER BY j.place, j.id"};

constexpr pg::Statement kBeat{
    "polling.heartbeat",
    "WITH " WINNOW_KIND_NOW
    " UPDATE polling.jobs j SET ready_time = greatest(j.ready_time, k.now + k.lease) "
    "FROM unnest($2::text[], $3::bigint[]) AS u(id, token) CROSS JOIN k "
    "WHERE j.kind = $1 AND j.id = u.id AND j.token = u.token AND j.phase = 2 "
    "RETURNING j.id, j.token, j.cancel_requested, j.ready_time"};

// The clocks differ in whom they find; what becomes of those is the same.
#define WINNOW_SWEEP(stale)                                                                      \
  "WITH " WINNOW_KIND_NOW                                                                        \
  ", due AS MATERIALIZED (SELECT x.id, x.token AS old_token, x.owner AS old_owner, x.why, "      \
  "  CASE WHEN x.why = 3 THEN 6 WHEN x.cancel_requested THEN 4 "                                 \
  "    WHEN x.losses + 1 >= k.max_losses THEN 3 ELSE 5 END AS fate "                             \
  "  FROM k CROSS JOIN LATERAL (SELECT y.id, y.token, y.owner, y.cancel_requested, y.losses, "   \
  "    CASE WHEN y.entered <= k.kind_now - k.deadline THEN 3 "                                   \
  "      WHEN y.ready_time <= k.now THEN 1 ELSE 2 END AS why "                                   \
  "    FROM polling.jobs y WHERE y.kind = $1 AND " stale                                         \
  "    LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED) x), "                                             \
  "moved AS (UPDATE polling.jobs j SET "                                                         \
  "  phase = CASE d.fate WHEN 5 THEN 1 WHEN 4 THEN 6 ELSE 3 END, "                               \
  "  owner = '', ready_time = k.now, "                                                           \
  "  losses = j.losses + CASE WHEN d.fate = 6 THEN 0 ELSE 1 END, "                               \
  "  reason = CASE d.fate WHEN 3 THEN 5 WHEN 6 THEN 3 ELSE j.reason END "                        \
  "  FROM due d CROSS JOIN k WHERE j.kind = $1 AND j.id = d.id "                                 \
  "  RETURNING j.id, j.state, j.phase, d.fate, d.why, d.old_token, d.old_owner, j.id AS place, " \
  "    k.now), " WINNOW_TOLD                                                                     \
  "SELECT m.id, m.state, m.fate, m.why, m.old_token, m.old_owner, m.now FROM moved m "           \
  "ORDER BY m.place"

constexpr pg::Statement kSweepLease{
    "polling.sweep_lease",
    WINNOW_SWEEP("y.phase = 2 AND y.phase <= 2 AND y.ready_time <= k.now ORDER BY y.ready_time")};
constexpr pg::Statement kSweepProgress{
    "polling.sweep_progress",
    WINNOW_SWEEP("y.phase = 2 AND y.progressed <= k.kind_now - k.no_progress "
                 "ORDER BY y.progressed")};
constexpr pg::Statement kSweepDeadline{
    "polling.sweep_deadline",
    WINNOW_SWEEP("y.phase <= 2 AND y.entered <= k.kind_now - k.deadline ORDER BY y.entered")};

constexpr pg::Statement kKindExists{"polling.has_kind",
                                    "SELECT 1 FROM polling.kinds WHERE kind = $1"};

constexpr int kClaimed = 2;  // fates up to it
constexpr int kPoisoned = 3;
constexpr int kPastDeadline = 6;

const pg::Statement& StatementOf(SweepClock clock) {
  switch (clock) {
    case SweepClock::kLease:
      return kSweepLease;
    case SweepClock::kNoProgress:
      return kSweepProgress;
    case SweepClock::kDeadline:
      return kSweepDeadline;
  }
  return kSweepLease;
}

StatusOr<ClaimResult> ClaimSome(pg::Session& session, const ClaimQuery& query) {
  const pqxx::result rows = session.Execute(kClaim, query.kind, query.owner, query.count);
  ClaimResult result;
  result.touched = static_cast<int64_t>(rows.size());
  if (rows.empty() && session.Execute(kKindExists, query.kind).empty()) {
    return NotFound("kind", query.kind);
  }
  for (const pqxx::row& row : rows) {
    Job job = ToJob(row);
    const int fate = row[kJobColumns].as<int>();
    if (fate > 1) {
      const bool is_poison = fate == kPoisoned;
      result.stale.push_back(
          {job.key.id, job.state, is_poison ? StaleReason::kPoison : StaleReason::kLeaseLost,
           is_poison, row[kJobColumns + 2].as<std::string>(), row[kJobColumns + 1].as<int64_t>()});
    }
    if (fate <= kClaimed) result.jobs.push_back(std::move(job));
  }
  if (!rows.empty()) {
    AppendStale(session, query.kind, result.stale, pg::ToTime(rows[0][kJobColumns + 3]));
  }
  return result;
}

StatusOr<std::vector<StaleJob>> SweepSome(pg::Session& session, const std::string& kind,
                                          SweepClock clock, int limit) {
  const pqxx::result rows = session.Execute(StatementOf(clock), kind, limit);
  std::vector<StaleJob> swept;
  for (const pqxx::row& row : rows) {
    const int fate = row[2].as<int>();
    const auto reason =
        fate == kPoisoned ? StaleReason::kPoison : static_cast<StaleReason>(row[3].as<int>());
    swept.push_back({row[0].as<std::string>(), row[1].as<std::string>(), reason,
                     fate == kPoisoned || fate == kPastDeadline, row[5].as<std::string>(),
                     row[4].as<int64_t>()});
  }
  if (!rows.empty()) AppendStale(session, kind, swept, pg::ToTime(rows[0][6]));
  return swept;
}

}  // namespace

StatusOr<ClaimResult> JobStore::Claim(Deadline deadline, const ClaimQuery& query) {
  return writes_.Transaction(deadline,
                             [&](pg::Session& session) { return ClaimSome(session, query); });
}

StatusOr<std::vector<HeartbeatResult>> JobStore::Heartbeat(Deadline deadline,
                                                           const std::string& kind,
                                                           std::span<const HeldJob> jobs) {
  // In one order, so that two batches never wait for each other in a circle.
  std::vector<size_t> order(jobs.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto key = [&](size_t i) { return std::tie(jobs[i].id, jobs[i].token); };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  pg::Array ids, tokens;
  for (const size_t i : order) {
    ids.Add(jobs[i].id);
    tokens.Add(jobs[i].token);
  }
  return writes_.Statements(
      deadline, [&](pg::Session& session) -> StatusOr<std::vector<HeartbeatResult>> {
        std::vector<HeartbeatResult> beats(jobs.size());
        for (const pqxx::row& row : session.Execute(kBeat, kind, ids, tokens)) {
          const HeldJob held{row[0].as<std::string>(), row[1].as<int64_t>()};
          const auto less = [&](size_t i, const HeldJob& other) {
            return key(i) < std::tie(other.id, other.token);
          };
          auto at = std::lower_bound(order.begin(), order.end(), held, less);
          for (; at != order.end() && key(*at) == std::tie(held.id, held.token); ++at) {
            beats[*at] = {false, row[2].as<bool>(), pg::ToTime(row[3])};
          }
        }
        return beats;
      });
}

StatusOr<std::vector<StaleJob>> JobStore::Sweep(Deadline deadline, const std::string& kind,
                                                SweepClock clock, int limit) {
  return writes_.Transaction(
      deadline, [&](pg::Session& session) { return SweepSome(session, kind, clock, limit); });
}

}  // namespace winnow::polling
