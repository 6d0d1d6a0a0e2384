#include "services/classification/runs/lease_store.h"

namespace winnow::classification {
namespace {

constexpr pg::Statement kLease{
    "classification.lease_run",
    "UPDATE classification.runs SET state = 2, lease_owner = $1, lease_epoch = lease_epoch + 1, "
    "lease_until = clock_timestamp() + interval '30 seconds' WHERE id = (SELECT id "
    "FROM classification.runs WHERE state IN (1, 2) AND classifier = ANY($2::text[]) "
    "AND (lease_until IS NULL OR lease_until < clock_timestamp()) "
    "ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id"};
constexpr pg::Statement kExtend{
    "classification.extend_lease",
    "UPDATE classification.runs SET lease_until = clock_timestamp() + interval '30 seconds' "
    "WHERE id = $1"};
constexpr pg::Statement kExtendOnly{
    "classification.extend_lease_only",
    "UPDATE classification.runs SET lease_until = clock_timestamp() + interval '30 seconds' "
    "WHERE id = $1 AND lease_epoch = $2 AND state = 2"};
constexpr pg::Statement kRelease{
    "classification.release_lease",
    "UPDATE classification.runs SET lease_until = NULL WHERE id = $1 AND lease_epoch = $2"};
constexpr pg::Statement kPending{
    "classification.residue",
    "SELECT c.number, c.id, c.body, c.content_hash FROM classification.comments c "
    "LEFT JOIN LATERAL (SELECT status, failure FROM classification.verdicts "
    "  WHERE run = $2 AND comment = c.number LIMIT 1) v ON TRUE "
    "WHERE c.video = $1 AND c.number > $3 AND c.number <= $4 "
    "AND v.status IS NULL AND coalesce(v.failure, 0) = 0 ORDER BY c.number LIMIT $5"};

// In a statement of its own: the sum below must see what others reserved before.
constexpr pg::Statement kLockLeased{
    "classification.lock_leased_run",
    "SELECT id FROM classification.runs WHERE id = $1 AND lease_epoch = $2 AND state = 2 "
    "FOR NO KEY UPDATE"};
constexpr pg::Statement kReserve{
    "classification.reserve_cost",
    "INSERT INTO classification.reservations (run, micros) SELECT r.id, $2::bigint "
    "FROM classification.runs r WHERE r.id = $1 AND (r.budget_micros = 0 OR r.cost_micros + "
    "$2::bigint + coalesce((SELECT sum(x.micros) FROM classification.reservations x "
    "  WHERE x.run = $1), 0) <= r.budget_micros) RETURNING id"};
constexpr pg::Statement kSweepCache{
    "classification.sweep_cache",
    "DELETE FROM classification.verdict_cache WHERE key IN (SELECT key "
    "FROM classification.verdict_cache WHERE create_time < $1::timestamptz "
    "ORDER BY create_time LIMIT $2)"};

Status CheckLease(const LockedRun& run, const Lease& lease) {
  if (run.epoch == lease.epoch && run.run.state == RunState::kRunning) return OkStatus();
  return FailedPrecondition("this worker no longer owns the run: another one took it over");
}

}  // namespace

StatusOr<std::optional<Lease>> LeaseStore::LeaseRun(Deadline deadline, const std::string& owner,
                                                    std::span<const std::string> classifiers) {
  pg::Array names;
  for (const std::string& name : classifiers) names.Add(name);
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<std::optional<Lease>> {
    const pqxx::result taken = session.Execute(kLease, owner, names);
    if (taken.empty()) return std::optional<Lease>();
    ChargeReservations(session, taken[0][0].as<int64_t>());
    WINNOW_ASSIGN_OR_RETURN(const LockedRun run, ReadLockedRun(session, taken[0][0].as<int64_t>()));
    return std::optional<Lease>(Lease{run.run, run.video, run.epoch, run.input_high});
  });
}

StatusOr<std::vector<Comment>> LeaseStore::ReadPending(Deadline deadline, const Lease& lease,
                                                       int64_t after, int count) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::vector<Comment>> {
    std::vector<Comment> comments;
    for (const pqxx::row& row :
         session.Execute(kPending, lease.video, lease.run.id, after, lease.input_high, count)) {
      Comment comment;
      comment.number = row[0].as<int64_t>();
      comment.id = row[1].as<std::string>();
      comment.text = row[2].as<std::string>();
      comment.content_hash = static_cast<uint64_t>(row[3].as<int64_t>());
      comments.push_back(std::move(comment));
    }
    return comments;
  });
}

Status LeaseStore::ExtendLease(Deadline deadline, const Lease& lease) {
  return writes_.Statements(deadline, [&](pg::Session& session) -> Status {
    if (session.Execute(kExtendOnly, lease.run.id, lease.epoch).affected_rows() == 1) {
      return OkStatus();
    }
    return FailedPrecondition("this worker no longer owns the run: another one took it over");
  });
}

StatusOr<Written> LeaseStore::WriteOutcomes(Deadline deadline, const Lease& lease,
                                            std::span<const CommentOutcome> outcomes,
                                            const Settlement& settlement,
                                            const std::string& cache_name) {
  const Time now = clock_.Now();
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Written> {
    WINNOW_ASSIGN_OR_RETURN(const LockedRun run, LockRun(session, lease.run.id, Lock::kShare));
    WINNOW_RETURN_IF_ERROR(CheckLease(run, lease));
    session.Execute(kExtend, lease.run.id);
    Settle(session, lease.run.id, settlement);
    if (!cache_name.empty()) PutCache(session, cache_name, outcomes, now);
    return WriteVerdicts(session, run, outcomes, now);
  });
}

Status LeaseStore::PauseRun(Deadline deadline, const Lease& lease, Failure reason) {
  const Time now = clock_.Now();
  return writes_.Transaction(deadline, [&](pg::Session& session) -> Status {
    WINNOW_ASSIGN_OR_RETURN(const LockedRun run, LockRun(session, lease.run.id, Lock::kShare));
    WINNOW_RETURN_IF_ERROR(CheckLease(run, lease));
    SetRunState(session, lease.run.id, RunState::kPaused, reason, now);
    return OkStatus();
  });
}

Status LeaseStore::ReleaseRun(Deadline deadline, const Lease& lease) {
  return writes_.Statements(deadline, [&](pg::Session& session) {
    session.Execute(kRelease, lease.run.id, lease.epoch);
    return OkStatus();
  });
}

StatusOr<std::vector<CommentOutcome>> LeaseStore::ReadCache(Deadline deadline,
                                                            const std::string& cache_name,
                                                            std::span<const Comment> comments) {
  return reads_.Statements(deadline,
                           [&](pg::Session& session) -> StatusOr<std::vector<CommentOutcome>> {
                             return classification::ReadCache(session, cache_name, comments);
                           });
}

StatusOr<int64_t> LeaseStore::SweepCache(Deadline deadline, int limit) {
  const Time oldest = clock_.Now() - retention_;
  return writes_.Statements(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    return static_cast<int64_t>(session.Execute(kSweepCache, oldest, limit).affected_rows());
  });
}

StatusOr<int64_t> LeaseStore::ReserveCost(Deadline deadline, const Lease& lease, int64_t micros) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    if (session.Execute(kLockLeased, lease.run.id, lease.epoch).empty()) {
      return FailedPrecondition("this worker no longer owns the run: another one took it over");
    }
    const pqxx::result reserved = session.Execute(kReserve, lease.run.id, micros);
    return reserved.empty() ? int64_t{0} : reserved[0][0].as<int64_t>();
  });
}

}  // namespace winnow::classification
