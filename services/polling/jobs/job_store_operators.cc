#include <algorithm>

#include "services/polling/jobs/job_sql.h"
#include "services/polling/jobs/job_store.h"
#include "services/polling/jobs/job_store_operators.sql.h"

// What operators do to many jobs at once.
namespace winnow::polling {
namespace {

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
  session.Execute(sql::kLockRequest, kind, action, request);
  const pqxx::result rows = session.Execute(sql::kFindRequest, kind, action, request);
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
  session.Execute(sql::kAuditMany, kind, note.actor, action, std::to_string(touched.count),
                  note.note, note.request_id, first);
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
    auto ids = ToIds(session.Execute(sql::kKick, kind, limit, static_cast<int>(reason), note.note,
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
          session.Execute(sql::kCountPurged, query.kind, phases, age)[0][0].as<int64_t>();
      return Touched{count, ToIds(session.Execute(sql::kListPurged, query.kind, phases, age,
                                                  std::min(query.count, kMaxRemembered)))};
    }
    if (auto done = FindDone(session, query.kind, "purge", note.request_id)) {
      return *std::move(done);
    }
    auto ids = ToIds(session.Execute(sql::kPurge, query.kind, phases, age, query.count));
    return Audit(session, query.kind, "purge", std::move(ids), note);
  });
}

StatusOr<int64_t> JobStore::Expire(Deadline deadline, const std::string& kind, int limit) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    return session.Execute(sql::kExpire, kind, limit)[0][0].as<int64_t>();
  });
}

}  // namespace winnow::polling
