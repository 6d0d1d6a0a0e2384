#include <algorithm>

#include "services/polling/jobs/job_sql.h"
#include "services/polling/jobs/job_store.h"

// What operators do to many jobs at once.
namespace winnow::polling {
namespace {

// As the machine requeues one. $3: a StaleReason, 0 for any; $6: states that the kind has.
constexpr pg::Statement kKick{
    "polling.kick",
    "WITH " WINNOW_KIND_NOW
    ", due AS MATERIALIZED (SELECT x.id, x.token, x.ready_time FROM polling.jobs x "
    "  WHERE x.kind = $1 AND x.phase > 2 AND x.phase = 3 "
    "  AND ($3::smallint = 0 OR x.reason = $3::smallint) AND x.state = ANY ($6::text[]) "
    "  ORDER BY x.ready_time, x.id LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED), "
    "moved AS (UPDATE polling.jobs j SET phase = 1, ready_time = k.now, state_time = k.now, "
    "  entered = k.kind_now, progressed = greatest(j.progressed, k.kind_now), failures = 0, "
    "  losses = 0, reason = 0, cancel_requested = FALSE, owner = '' "
    "  FROM due d CROSS JOIN k WHERE j.kind = $1 AND j.id = d.id "
    "  RETURNING j.id, j.state, j.token, d.ready_time AS place, k.now), "
    "logged AS (INSERT INTO polling.job_events (kind, id, event_time, change, from_state, "
    "to_state, "
    "  phase, token, note, actor) "
    "  SELECT $1, m.id, m.now, 10, m.state, m.state, 1, m.token, $4::text, $5::text "
    "  FROM moved m ORDER BY m.place, m.id) "
    "SELECT m.id FROM moved m ORDER BY m.place, m.id"};

// $2: phases; $3: how long ago they ended, at least.
#define WINNOW_PURGED                                                  \
  "SELECT x.id FROM polling.jobs x WHERE x.kind = $1 AND x.phase > 2 " \
  "AND x.phase = ANY ($2::smallint[]) "                                \
  "AND x.ready_time <= (SELECT polling.now()) - $3::bigint * interval '1 microsecond' "
constexpr pg::Statement kCountPurged{"polling.count_purged",
                                     "SELECT count(*) FROM (" WINNOW_PURGED ") p"};
constexpr pg::Statement kListPurged{"polling.list_purged",
                                    WINNOW_PURGED "ORDER BY x.ready_time, x.id LIMIT $4"};
constexpr pg::Statement kPurge{
    "polling.purge",
    "WITH due AS MATERIALIZED (" WINNOW_PURGED
    "  ORDER BY x.ready_time, x.id LIMIT $4 FOR UPDATE SKIP LOCKED), "
    "gone AS (DELETE FROM polling.jobs j USING due d WHERE j.kind = $1 AND j.id = d.id "
    "  RETURNING j.id), "
    "logged AS (DELETE FROM polling.job_events e USING gone g WHERE e.kind = $1 AND e.id = g.id) "
    "SELECT id FROM gone ORDER BY id"};

// $2: how many. Phases that PurgeJobs takes by default.
constexpr pg::Statement kExpire{
    "polling.expire",
    "WITH t AS MATERIALIZED (SELECT polling.now() AS now), "
    "due AS MATERIALIZED (SELECT x.id FROM polling.kinds k "
    "  JOIN polling.policies p ON p.kind = k.kind AND p.version = k.version CROSS JOIN t "
    "  CROSS JOIN LATERAL (SELECT y.id FROM polling.jobs y WHERE y.kind = $1 AND y.phase > 3 "
    "    AND y.ready_time <= t.now - p.retention_us * interval '1 microsecond' "
    "    ORDER BY y.ready_time, y.id LIMIT $2 FOR UPDATE SKIP LOCKED) x WHERE k.kind = $1), "
    "gone AS (DELETE FROM polling.jobs j USING due d WHERE j.kind = $1 AND j.id = d.id "
    "  RETURNING j.id), "
    "logged AS (DELETE FROM polling.job_events e USING gone g WHERE e.kind = $1 AND e.id = g.id) "
    "SELECT count(*) FROM gone"};

// One call of a request id at a time: it waits for the other's end, and then sees what that did.
constexpr pg::Statement kLockRequest{
    "polling.lock_request",
    "SELECT pg_advisory_xact_lock(hashtextextended("
    "'winnow.polling.request/' || $1::text || '/' || $2::text || '/' || $3::text, 0))"};
constexpr pg::Statement kFindRequest{"polling.find_request",
                                     "SELECT job_count, job_ids FROM polling.audit_entries "
                                     "WHERE kind = $1 AND action = $2 AND request_id = $3"};
constexpr pg::Statement kAuditMany{
    "polling.audit_many",
    "INSERT INTO polling.audit_entries (kind, actor, action, after, note, request_id, job_count, "
    "job_ids, create_time) VALUES ($1, $2, $3, $4::text, $5, nullif($6, ''), $4::text::bigint, "
    "$7::text[], polling.now())"};

constexpr int kMaxRemembered = 100;  // ids, as many as an answer names

std::vector<std::string> ToIds(const pqxx::result& rows) {
  std::vector<std::string> ids;
  for (const pqxx::row& row : rows) ids.push_back(row[0].as<std::string>());
  return ids;
}

// What the call did when it was sent before.
std::optional<Touched> FindDone(pg::Session& session, const std::string& kind, const char* action,
                                const std::string& request) {
  if (request.empty()) return std::nullopt;
  session.Execute(kLockRequest, kind, action, request);
  const pqxx::result rows = session.Execute(kFindRequest, kind, action, request);
  if (rows.empty()) return std::nullopt;
  return Touched{rows[0][0].as<int64_t>(), pg::ToTexts(rows[0][1])};
}

Touched Audit(pg::Session& session, const std::string& kind, const char* action,
              std::vector<std::string> ids, const AuditNote& note) {
  Touched touched{std::ssize(ids), std::move(ids)};
  touched.ids.resize(std::min(touched.ids.size(), size_t{kMaxRemembered}));
  if (touched.count == 0 && note.request_id.empty()) return touched;
  pg::Array first;
  for (const std::string& id : touched.ids) first.Add(id);
  session.Execute(kAuditMany, kind, note.actor, action, std::to_string(touched.count), note.note,
                  note.request_id, first);
  return touched;
}

}  // namespace

StatusOr<Touched> JobStore::Kick(Deadline deadline, const std::string& kind, StaleReason reason,
                                 int limit, const AuditNote& note) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Touched> {
    KeepPolicies(session);
    WINNOW_ASSIGN_OR_RETURN(const KindNow now, ReadKind(session, kind));
    if (auto done = FindDone(session, kind, "kick", note.request_id)) return *std::move(done);
    pg::Array states;
    for (const std::string& state : now.policy.states) states.Add(state);
    auto ids = ToIds(session.Execute(kKick, kind, limit, static_cast<int>(reason), note.note,
                                     note.actor, states));
    return Audit(session, kind, "kick", std::move(ids), note);
  });
}

StatusOr<Touched> JobStore::Purge(Deadline deadline, const PurgeQuery& query,
                                  const AuditNote& note) {
  pg::Array phases;
  for (const Phase phase : query.phases) phases.Add(static_cast<int>(phase));
  const int64_t age = query.min_age.count();
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Touched> {
    WINNOW_RETURN_IF_ERROR(ReadKind(session, query.kind).status());
    if (query.dry_run) {
      const int64_t count =
          session.Execute(kCountPurged, query.kind, phases, age)[0][0].as<int64_t>();
      return Touched{count, ToIds(session.Execute(kListPurged, query.kind, phases, age,
                                                  std::min(query.count, kMaxRemembered)))};
    }
    if (auto done = FindDone(session, query.kind, "purge", note.request_id)) {
      return *std::move(done);
    }
    auto ids = ToIds(session.Execute(kPurge, query.kind, phases, age, query.count));
    return Audit(session, query.kind, "purge", std::move(ids), note);
  });
}

StatusOr<int64_t> JobStore::Expire(Deadline deadline, const std::string& kind, int limit) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    return session.Execute(kExpire, kind, limit)[0][0].as<int64_t>();
  });
}

}  // namespace winnow::polling
