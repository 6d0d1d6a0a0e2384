#include "services/polling/jobs/job_sql.h"
#include "services/polling/jobs/job_store.h"

// Kinds: their rules, their pauses, what stands in them.
namespace winnow::polling {
namespace {

constexpr int kMaxKinds = 100;

constexpr pg::Statement kListKinds{
    "polling.list_kinds",
    "SELECT kind, next_sweep_time <= polling.now() FROM polling.kinds ORDER BY kind"};
constexpr pg::Statement kSetSwept{
    "polling.set_swept",
    "UPDATE polling.kinds k SET next_sweep_time = t.now + p.sweep_interval_us * interval '1 us' "
    "FROM (SELECT polling.now() AS now) t, polling.policies p "
    "WHERE k.kind = $1 AND p.kind = k.kind AND p.version = k.version "
    "AND k.next_sweep_time <= t.now"};

constexpr pg::Statement kGetPolicy{
    "polling.get_policy",
    "SELECT " WINNOW_POLICY_COLUMNS
    ", p.created_by, p.reason, p.create_time FROM polling.policies p "
    "WHERE p.kind = $1 AND p.version = CASE WHEN $2::bigint > 0 THEN $2::bigint ELSE "
    "(SELECT version FROM polling.kinds WHERE kind = $1) END"};
// Policies change one after the other: a new kind, the number of kinds, the keys of views and the
// states of jobs in flight are looked at and hold.
constexpr pg::Statement kLockPolicies{"polling.lock_policies",
                                      "SELECT pg_advisory_xact_lock(" WINNOW_POLICY_LOCK ")"};
// $2: keys of a view.
constexpr pg::Statement kClash{
    "polling.clashing_view",
    "SELECT p.view_prefix || s.state, k.kind FROM polling.kinds k "
    "JOIN polling.policies p ON p.kind = k.kind AND p.version = k.version "
    "CROSS JOIN unnest(p.states) AS s(state) "
    "WHERE k.kind <> $1 AND p.view_prefix <> '' AND p.view_prefix || s.state = ANY ($2::text[]) "
    "LIMIT 1"};
constexpr pg::Statement kPolicyByRequest{
    "polling.policy_by_request",
    "SELECT version FROM polling.policies WHERE kind = $1 AND request_id = $2"};
constexpr pg::Statement kLockKind{"polling.lock_kind",
                                  "SELECT version FROM polling.kinds WHERE kind = $1 FOR UPDATE"};
constexpr pg::Statement kCountKinds{"polling.count_kinds", "SELECT count(*) FROM polling.kinds"};
constexpr pg::Statement kStranded{
    "polling.stranded_job",
    "SELECT j.id, j.state FROM polling.jobs j WHERE j.kind = $1 AND j.phase <= 2 "
    "AND j.state <> ALL ($2::text[]) LIMIT 1"};
constexpr pg::Statement kInsertPolicy{
    "polling.insert_policy",
    "INSERT INTO polling.policies (kind, version, states, transitions_from, transitions_to, "
    "lease_us, no_progress_us, deadline_us, sweep_interval_us, poll_interval_us, "
    "backoff_base_us, backoff_max_us, max_attempts, max_losses, view_prefix, created_by, reason, "
    "request_id, retention_us) VALUES ($1, $2, $3::text[], $4::text[], $5::text[], $6, $7, $8, "
    "$9, $10, $11, $12, $13, $14, $15, $16, $17, nullif($18, ''), $19)"};
// A shorter interval holds at once.
constexpr pg::Statement kPointKind{
    "polling.point_kind",
    "INSERT INTO polling.kinds AS k (kind, version) VALUES ($1, $2) "
    "ON CONFLICT (kind) DO UPDATE SET version = excluded.version, next_sweep_time = "
    "least(k.next_sweep_time, polling.now() + $3::bigint * interval '1 us')"};
constexpr pg::Statement kAudit{
    "polling.audit",
    "INSERT INTO polling.audit_entries (kind, actor, action, before, after, note, create_time) "
    "VALUES ($1, $2, $3, $4, $5, $6, polling.now())"};

constexpr pg::Statement kSetPause{
    "polling.set_pause",
    "UPDATE polling.kinds SET pause_time = $2::timestamptz, paused_us = $3 WHERE kind = $1"};

constexpr pg::Statement kPreview{
    "polling.preview",
    "SELECT s.why, count(*), (array_agg(s.id ORDER BY s.entered, s.id))[1:$6::int] FROM ("
    "  SELECT j.id, j.entered, CASE WHEN j.entered <= $3::timestamptz - "
    "      $4::bigint * interval '1 us' THEN 3 "
    "    WHEN j.ready_time <= $2::timestamptz THEN 1 ELSE 2 END AS why "
    "  FROM polling.jobs j WHERE j.kind = $1 AND j.phase <= 2 "
    "  AND (j.entered <= $3::timestamptz - $4::bigint * interval '1 us' OR (j.phase = 2 "
    "    AND (j.ready_time <= $2::timestamptz "
    "      OR j.progressed <= $3::timestamptz - $5::bigint * interval '1 us')))) s "
    "GROUP BY s.why ORDER BY s.why"};

constexpr pg::Statement kCounts{
    "polling.counts",
    "SELECT state, phase, count(*), min(state_time), "
    "min(ready_time) FILTER (WHERE ready_time <= (SELECT polling.now())) "
    "FROM polling.jobs WHERE kind = $1 AND (phase <= 2 OR $2) GROUP BY state, phase "
    "ORDER BY state, phase"};

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
  const pqxx::result rows = session.Execute(kGetPolicy, kind, version);
  if (!rows.empty()) return ToVersion(kind, rows[0]);
  const bool is_known = !session.Execute(kGetPolicy, kind, 0).empty();
  return is_known ? NotFound("policy version", std::to_string(version)) : NotFound("kind", kind);
}

pg::Array ToArray(const std::vector<std::string>& texts) {
  pg::Array array;
  for (const std::string& text : texts) array.Add(text);
  return array;
}

Status CheckNobodyStranded(pg::Session& session, const std::string& kind, const Policy& policy) {
  const pqxx::result stranded = session.Execute(kStranded, kind, ToArray(policy.states));
  if (stranded.empty()) return OkStatus();
  return FailedPrecondition("job " + stranded[0][0].as<std::string>() + " is in flight in state " +
                            stranded[0][1].as<std::string>() +
                            ", which the new policy does not have");
}

Status CheckNoViewClashes(pg::Session& session, const std::string& kind, const Policy& policy) {
  if (policy.view_prefix.empty()) return OkStatus();
  pg::Array keys;
  for (const std::string& state : policy.states) keys.Add(policy.view_prefix + state);
  const pqxx::result clash = session.Execute(kClash, kind, keys);
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
  session.Execute(kInsertPolicy, update.kind, version, ToArray(policy.states), from, to,
                  policy.lease.count(), policy.no_progress.count(), policy.deadline.count(),
                  policy.sweep_interval.count(), policy.poll_interval.count(),
                  policy.backoff_base.count(), policy.backoff_max.count(), policy.max_attempts,
                  policy.max_losses, policy.view_prefix, update.actor, update.note,
                  update.request_id, policy.retention.count());
  session.Execute(kPointKind, update.kind, version, policy.sweep_interval.count());
}

// ABORTED when it is not the one that was read.
Status CheckEtag(const PolicyUpdate& update, int64_t version) {
  if (!update.base || *update.base == version) return OkStatus();
  return Aborted(Reason::kStaleEtag,
                 "the policy changed since it was read: it is version " + std::to_string(version));
}

StatusOr<PolicyVersion> Update(pg::Session& session, const PolicyUpdate& update) {
  session.Execute(kLockPolicies);
  const pqxx::result locked = session.Execute(kLockKind, update.kind);
  if (!update.request_id.empty()) {
    const pqxx::result same = session.Execute(kPolicyByRequest, update.kind, update.request_id);
    if (!same.empty()) return ReadPolicy(session, update.kind, same[0][0].as<int64_t>());
  }
  const int64_t version = locked.empty() ? 0 : locked[0][0].as<int64_t>();
  WINNOW_RETURN_IF_ERROR(CheckEtag(update, version));
  Policy before;
  if (version > 0) {
    WINNOW_ASSIGN_OR_RETURN(const PolicyVersion now, ReadPolicy(session, update.kind, version));
    before = now.policy;
  } else if (session.Execute(kCountKinds)[0][0].as<int>() >= kMaxKinds) {
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
    session.Execute(kAudit, update.kind, update.actor, "policy",
                    version == 0 ? "" : Describe(before), Describe(after), update.note);
  }
  return ReadPolicy(session, update.kind, 0);
}

}  // namespace

StatusOr<std::vector<KindToSweep>> JobStore::ListKinds(Deadline deadline) {
  return reads_.Statements(deadline,
                           [&](pg::Session& session) -> StatusOr<std::vector<KindToSweep>> {
                             std::vector<KindToSweep> kinds;
                             for (const pqxx::row& row : session.Execute(kListKinds)) {
                               kinds.push_back({row[0].as<std::string>(), row[1].as<bool>()});
                             }
                             return kinds;
                           });
}

Status JobStore::SetSwept(Deadline deadline, const std::string& kind) {
  return writes_.Statements(deadline, [&](pg::Session& session) {
    session.Execute(kSetSwept, kind);
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
         session.Execute(kPreview, kind, now.now, now.clock.At(now.now), policy.deadline.count(),
                         policy.no_progress.count(), most_ids)) {
      sweeps.push_back(
          {static_cast<StaleReason>(row[0].as<int>()), row[1].as<int64_t>(), pg::ToTexts(row[2])});
    }
    return sweeps;
  });
}

StatusOr<KindClock> JobStore::SetPaused(Deadline deadline, const std::string& kind, bool paused,
                                        const std::string& actor, const std::string& note) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<KindClock> {
    session.Execute(kLockKind, kind);
    WINNOW_ASSIGN_OR_RETURN(const KindNow now, ReadKind(session, kind));
    const KindClock clock = paused ? Pause(now.clock, now.now) : Resume(now.clock, now.now);
    if (clock == now.clock) return clock;
    session.Execute(kSetPause, kind, clock.pause_time, clock.paused.count());
    session.Execute(kAudit, kind, actor, paused ? "pause" : "resume", "", "", note);
    return clock;
  });
}

StatusOr<KindStats> JobStore::GetStats(Deadline deadline, const std::string& kind,
                                       bool with_ended) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<KindStats> {
    WINNOW_ASSIGN_OR_RETURN(const KindNow now, ReadKind(session, kind));
    KindStats stats{kind, now.version, now.policy.states, now.clock, now.now, {}};
    for (const pqxx::row& row : session.Execute(kCounts, kind, with_ended)) {
      stats.counts.push_back({row[0].as<std::string>(), static_cast<Phase>(row[1].as<int>()),
                              row[2].as<int64_t>(), pg::ToTime(row[3]),
                              pg::ToOptionalTime(row[4])});
    }
    return stats;
  });
}

}  // namespace winnow::polling
