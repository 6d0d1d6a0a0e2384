#include "services/classification/runs/lease_store.h"

#include "services/classification/runs/lease_store.sql.h"

namespace winnow::classification {
namespace {

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
    const pqxx::result taken = session.Execute(sql::kLeaseRun, owner, names);
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
    for (const pqxx::row& row : session.Execute(sql::kResidue, lease.video, lease.run.id, after,
                                                lease.input_high, count)) {
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
    if (session.Execute(sql::kExtendLeaseOnly, lease.run.id, lease.epoch).affected_rows() == 1) {
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
    session.Execute(sql::kExtendLease, lease.run.id);
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
    session.Execute(sql::kReleaseLease, lease.run.id, lease.epoch);
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
    return static_cast<int64_t>(session.Execute(sql::kSweepCache, oldest, limit).affected_rows());
  });
}

StatusOr<int64_t> LeaseStore::ReserveCost(Deadline deadline, const Lease& lease, int64_t micros) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    if (session.Execute(sql::kLockLeasedRun, lease.run.id, lease.epoch).empty()) {
      return FailedPrecondition("this worker no longer owns the run: another one took it over");
    }
    const pqxx::result reserved = session.Execute(sql::kReserveCost, lease.run.id, micros);
    return reserved.empty() ? int64_t{0} : reserved[0][0].as<int64_t>();
  });
}

}  // namespace winnow::classification
