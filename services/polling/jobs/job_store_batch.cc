#include <algorithm>
#include <tuple>

#include "services/polling/jobs/job_sql.h"
#include "services/polling/jobs/job_store.h"
#include "services/polling/jobs/job_store_batch.sql.h"

// Claims, heartbeats and sweeps: what the machine does to one job, in one statement for many. A
// property test holds both together, on PostgreSQL.
namespace winnow::polling {
namespace {

constexpr int kClaimed = 2;  // fates up to it
constexpr int kPoisoned = 3;
constexpr int kPastDeadline = 6;

const pg::Statement& StatementOf(SweepClock clock) {
  switch (clock) {
    case SweepClock::kLease:
      return sql::kSweepLease;
    case SweepClock::kNoProgress:
      return sql::kSweepProgress;
    case SweepClock::kDeadline:
      return sql::kSweepDeadline;
  }
  return sql::kSweepLease;
}

StatusOr<ClaimResult> ClaimSome(pg::Session& session, const ClaimQuery& query) {
  const pqxx::result rows = session.Execute(sql::kClaim, query.kind, query.owner, query.count);
  ClaimResult result;
  result.touched = static_cast<int64_t>(rows.size());
  if (rows.empty() && session.Execute(sql::kHasKind, query.kind).empty()) {
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
        for (const pqxx::row& row : session.Execute(sql::kHeartbeat, kind, ids, tokens)) {
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
