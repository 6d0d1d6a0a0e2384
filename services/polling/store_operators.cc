#include "services/polling/store.h"
#include "services/polling/store_rows.h"

// What operators do to many jobs at once.
namespace winnow::polling {
namespace {

// As the machine requeues one. $3: a StaleReason, 0 for any.
constexpr pg::Statement kKick{
    "polling.kick",
    "WITH " WINNOW_KIND_NOW
    ", due AS MATERIALIZED (SELECT x.id, x.token, x.ready_time FROM polling.jobs x "
    "  WHERE x.kind = $1 AND x.phase > 2 AND x.phase = 3 "
    "  AND ($3::smallint = 0 OR x.reason = $3::smallint) "
    "  ORDER BY x.ready_time, x.id LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED), "
    "moved AS (UPDATE polling.jobs j SET phase = 1, ready_time = k.now, state_time = k.now, "
    "  entered = k.kind_now, progressed = greatest(j.progressed, k.kind_now), failures = 0, "
    "  losses = 0, reason = 0, cancel_requested = FALSE, owner = '' "
    "  FROM due d CROSS JOIN k WHERE j.kind = $1 AND j.id = d.id "
    "  RETURNING j.id, j.state, j.token, d.ready_time AS place, k.now), "
    "told AS (INSERT INTO polling.job_events (kind, id, event_time, change, from_state, to_state, "
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
    "told AS (DELETE FROM polling.job_events e USING gone g WHERE e.kind = $1 AND e.id = g.id) "
    "SELECT id FROM gone ORDER BY id"};

std::vector<std::string> ToIds(const pqxx::result& rows) {
  std::vector<std::string> ids;
  for (const pqxx::row& row : rows) ids.push_back(row[0].as<std::string>());
  return ids;
}

}  // namespace

StatusOr<std::vector<std::string>> Store::Kick(Deadline deadline, const std::string& kind,
                                               StaleReason reason, int limit,
                                               const AuditNote& note) {
  using Result = StatusOr<std::vector<std::string>>;
  return writes_.Write(deadline, [&](pg::Session& session) -> Result {
    WINNOW_RETURN_IF_ERROR(ReadKind(session, kind).status());
    auto ids =
        ToIds(session.Execute(kKick, kind, limit, static_cast<int>(reason), note.note, note.actor));
    if (!ids.empty()) WriteAudit(session, kind, "kick", std::to_string(ids.size()), note);
    return ids;
  });
}

StatusOr<Purged> Store::Purge(Deadline deadline, const PurgeQuery& query, const AuditNote& note) {
  pg::Array phases;
  for (const Phase phase : query.phases) phases.Add(static_cast<int>(phase));
  const int64_t age = query.min_age.count();
  return writes_.Write(deadline, [&](pg::Session& session) -> StatusOr<Purged> {
    WINNOW_RETURN_IF_ERROR(ReadKind(session, query.kind).status());
    if (query.dry_run) {
      const int64_t count =
          session.Execute(kCountPurged, query.kind, phases, age)[0][0].as<int64_t>();
      return Purged{count,
                    ToIds(session.Execute(kListPurged, query.kind, phases, age, query.count))};
    }
    auto ids = ToIds(session.Execute(kPurge, query.kind, phases, age, query.count));
    if (!ids.empty()) WriteAudit(session, query.kind, "purge", std::to_string(ids.size()), note);
    return Purged{std::ssize(ids), std::move(ids)};
  });
}

}  // namespace winnow::polling
