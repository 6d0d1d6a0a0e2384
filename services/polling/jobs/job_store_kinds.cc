#include "services/polling/jobs/job_sql.h"
#include "services/polling/jobs/job_store.h"
#include "services/polling/jobs/job_store_kinds.sql.h"

// Kinds: their rules, their pauses, what stands in them.
namespace winnow::polling {
namespace {

constexpr int kMaxKinds = 100;

PolicyVersion ToVersion(const std::string& kind, const pqxx::row& row) {
  PolicyVersion version;
  version.kind = kind;
  version.version = row[0].as<int64_t>();
  version.policy = ToPolicy(row, 0);
  version.actor = row[kPolicyColumns].as<std::string>();
  version.note = row[kPolicyColumns + 1].as<std::string>();
  version.create_time = pg::ToTime(row[kPolicyColumns + 2]);
  return version;
}

StatusOr<PolicyVersion> ReadPolicy(pg::Session& session, const std::string& kind, int64_t version) {
  const pqxx::result rows = session.Execute(sql::kGetPolicy, kind, version);
  if (!rows.empty()) return ToVersion(kind, rows[0]);
  const bool is_known = !session.Execute(sql::kGetPolicy, kind, 0).empty();
  return is_known ? NotFound("policy version", std::to_string(version)) : NotFound("kind", kind);
}

pg::Array ToArray(const std::vector<std::string>& texts) {
  pg::Array array;
  for (const std::string& text : texts) array.Add(text);
  return array;
}

Status CheckNobodyStranded(pg::Session& session, const std::string& kind, const Policy& policy) {
  const pqxx::result stranded = session.Execute(sql::kStrandedJob, kind, ToArray(policy.states));
  if (stranded.empty()) return OkStatus();
  return FailedPrecondition("job " + stranded[0][0].as<std::string>() + " is in flight in state " +
                            stranded[0][1].as<std::string>() +
                            ", which the new policy does not have");
}

Status CheckNoViewClashes(pg::Session& session, const std::string& kind, const Policy& policy) {
  if (policy.view_prefix.empty()) return OkStatus();
  pg::Array keys;
  for (const std::string& state : policy.states) keys.Add(policy.view_prefix + state);
  const pqxx::result clash = session.Execute(sql::kClashingView, kind, keys);
  if (clash.empty()) return OkStatus();
  return InvalidField("policy.view_prefix", "makes the key " + clash[0][0].as<std::string>() +
                                                ", which is that of kind " +
                                                clash[0][1].as<std::string>());
}

void InsertPolicy(pg::Session& session, const PolicyUpdate& update, const Policy& policy,
                  int64_t version) {
  pg::Array from, to;
  for (const auto& [one, other] : policy.transitions) {
    from.Add(one);
    to.Add(other);
  }
  session.Execute(sql::kInsertPolicy, update.kind, version, ToArray(policy.states), from, to,
                  policy.lease.count(), policy.no_progress.count(), policy.deadline.count(),
                  policy.sweep_interval.count(), policy.poll_interval.count(),
                  policy.backoff_base.count(), policy.backoff_max.count(), policy.max_attempts,
                  policy.max_losses, policy.view_prefix, update.actor, update.note,
                  update.request_id, policy.retention.count());
  session.Execute(sql::kPointKind, update.kind, version, policy.sweep_interval.count());
}

// ABORTED when it is not the one that was read.
Status CheckEtag(const PolicyUpdate& update, int64_t version) {
  if (!update.base || *update.base == version) return OkStatus();
  return Aborted(Reason::kStaleEtag,
                 "the policy changed since it was read: it is version " + std::to_string(version));
}

StatusOr<PolicyVersion> Update(pg::Session& session, const PolicyUpdate& update) {
  session.Execute(sql::kLockPolicies);
  const pqxx::result locked = session.Execute(sql::kLockKind, update.kind);
  if (!update.request_id.empty()) {
    const pqxx::result same =
        session.Execute(sql::kPolicyByRequest, update.kind, update.request_id);
    if (!same.empty()) return ReadPolicy(session, update.kind, same[0][0].as<int64_t>());
  }
  const int64_t version = locked.empty() ? 0 : locked[0][0].as<int64_t>();
  WINNOW_RETURN_IF_ERROR(CheckEtag(update, version));
  Policy before;
  if (version > 0) {
    WINNOW_ASSIGN_OR_RETURN(const PolicyVersion now, ReadPolicy(session, update.kind, version));
    before = now.policy;
  } else if (session.Execute(sql::kCountKinds)[0][0].as<int>() >= kMaxKinds) {
    return FailedPrecondition("there are 100 kinds, which is the most");
  }
  const Policy after = update.apply(before);
  Violations violations;
  Validate(after, "policy.", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_RETURN_IF_ERROR(CheckNobodyStranded(session, update.kind, after));
  WINNOW_RETURN_IF_ERROR(CheckNoViewClashes(session, update.kind, after));
  if (version == 0 || after != before) {
    InsertPolicy(session, update, after, version + 1);
    session.Execute(sql::kAudit, update.kind, update.actor, "policy",
                    version == 0 ? "" : Describe(before), Describe(after), update.note);
  }
  return ReadPolicy(session, update.kind, 0);
}

}  // namespace

StatusOr<std::vector<KindToSweep>> JobStore::ListKinds(Deadline deadline) {
  return reads_.Statements(deadline,
                           [&](pg::Session& session) -> StatusOr<std::vector<KindToSweep>> {
                             std::vector<KindToSweep> kinds;
                             for (const pqxx::row& row : session.Execute(sql::kListKinds)) {
                               kinds.push_back({row[0].as<std::string>(), row[1].as<bool>()});
                             }
                             return kinds;
                           });
}

Status JobStore::SetSwept(Deadline deadline, const std::string& kind) {
  return writes_.Statements(deadline, [&](pg::Session& session) {
    session.Execute(sql::kSetSwept, kind);
    return OkStatus();
  });
}

StatusOr<PolicyVersion> JobStore::GetPolicy(Deadline deadline, const std::string& kind,
                                            int64_t version) {
  return reads_.Statements(
      deadline, [&](pg::Session& session) { return ReadPolicy(session, kind, version); });
}

StatusOr<PolicyVersion> JobStore::UpdatePolicy(Deadline deadline, const PolicyUpdate& update) {
  return writes_.Transaction(deadline,
                             [&](pg::Session& session) { return Update(session, update); });
}

StatusOr<std::vector<WouldSweep>> JobStore::PreviewPolicy(Deadline deadline,
                                                          const std::string& kind,
                                                          const Policy& policy, int most_ids) {
  using Result = StatusOr<std::vector<WouldSweep>>;
  return reads_.Statements(deadline, [&](pg::Session& session) -> Result {
    WINNOW_ASSIGN_OR_RETURN(const KindNow now, ReadKind(session, kind));
    std::vector<WouldSweep> sweeps;
    for (const pqxx::row& row :
         session.Execute(sql::kPreview, kind, now.now, now.clock.At(now.now),
                         policy.deadline.count(), policy.no_progress.count(), most_ids)) {
      sweeps.push_back(
          {static_cast<StaleReason>(row[0].as<int>()), row[1].as<int64_t>(), pg::ToTexts(row[2])});
    }
    return sweeps;
  });
}

StatusOr<KindClock> JobStore::SetPaused(Deadline deadline, const std::string& kind, bool paused,
                                        const std::string& actor, const std::string& note) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<KindClock> {
    session.Execute(sql::kLockKind, kind);
    WINNOW_ASSIGN_OR_RETURN(const KindNow now, ReadKind(session, kind));
    const KindClock clock = paused ? Pause(now.clock, now.now) : Resume(now.clock, now.now);
    if (clock == now.clock) return clock;
    session.Execute(sql::kSetPause, kind, clock.pause_time, clock.paused.count());
    session.Execute(sql::kAudit, kind, actor, paused ? "pause" : "resume", "", "", note);
    return clock;
  });
}

StatusOr<KindStats> JobStore::GetStats(Deadline deadline, const std::string& kind,
                                       bool with_ended) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<KindStats> {
    WINNOW_ASSIGN_OR_RETURN(const KindNow now, ReadKind(session, kind));
    KindStats stats{kind, now.version, now.policy.states, now.clock, now.now, {}};
    for (const pqxx::row& row : session.Execute(sql::kCounts, kind, with_ended)) {
      stats.counts.push_back({row[0].as<std::string>(), static_cast<Phase>(row[1].as<int>()),
                              row[2].as<int64_t>(), pg::ToTime(row[3]),
                              pg::ToOptionalTime(row[4])});
    }
    return stats;
  });
}

}  // namespace winnow::polling
