#include "services/classification/store.h"
#include "services/classification/store_rows.h"

// What people say: overrides, appeals. And who said it: the audit; and policies.
namespace winnow::classification {
namespace {

constexpr pg::Statement kNextBulk{"classification.next_bulk",
                                  "SELECT nextval('classification.bulks')"};
// Each comment in each run of the video, with what it resolves to there.
constexpr pg::Statement kBefore{
    "classification.before_override",
    "SELECT r.id, u.comment, coalesce(v.resolved, 0), coalesce(v.status, 0) "
    "FROM classification.runs r CROSS JOIN unnest($2::bigint[]) AS u(comment) "
    "LEFT JOIN LATERAL (SELECT resolved, status FROM classification.verdicts x "
    "  WHERE x.run = r.id AND x.comment = u.comment LIMIT 1) v ON TRUE WHERE r.video = $1"};
constexpr pg::Statement kOverride{
    "classification.override",
    "INSERT INTO classification.overrides (comment, video, status, reason, actor, bulk, "
    "create_time) SELECT u, $1, $3, $4, $5, $6, $7::timestamptz FROM unnest($2::bigint[]) AS u "
    "ON CONFLICT (comment) DO UPDATE SET status = excluded.status, reason = excluded.reason, "
    "actor = excluded.actor, bulk = excluded.bulk, create_time = excluded.create_time"};
constexpr pg::Statement kResolve{
    "classification.resolve_override",
    "INSERT INTO classification.verdicts (run, comment, resolved, overridden, sort_time) "
    "SELECT r.id, c.number, $3, TRUE, c.sort_time FROM classification.runs r "
    "CROSS JOIN unnest($2::bigint[]) AS u(comment) CROSS JOIN LATERAL "
    "(SELECT number, sort_time FROM classification.comments WHERE number = u.comment LIMIT 1) c "
    "WHERE r.video = $1 ON CONFLICT (run, comment) DO UPDATE SET resolved = excluded.resolved, "
    "overridden = TRUE"};
constexpr pg::Statement kUnresolve{
    "classification.undo_override",
    "UPDATE classification.verdicts v SET resolved = v.status, overridden = FALSE "
    "FROM (SELECT r.id, u.comment FROM classification.runs r "
    "CROSS JOIN unnest($2::bigint[]) AS u(comment) WHERE r.video = $1) k "
    "WHERE v.run = k.id AND v.comment = k.comment"};
constexpr pg::Statement kDropOverrides{
    "classification.drop_overrides",
    "DELETE FROM classification.overrides WHERE video = $1 AND comment = ANY($2::bigint[])"};
constexpr pg::Statement kOverridesOf{
    "classification.overrides_of",
    "SELECT o.comment, o.status, c.id FROM classification.overrides o CROSS JOIN LATERAL "
    "(SELECT id FROM classification.comments WHERE number = o.comment LIMIT 1) c "
    "WHERE o.video = $1 AND CASE WHEN $2::bigint <> 0 THEN o.comment = $2::bigint "
    "ELSE o.bulk = $3::bigint END"};
constexpr pg::Statement kShift{
    "classification.shift_counts",
    "UPDATE classification.runs SET n_normal = n_normal + $2, n_filtered = n_filtered + $3, "
    "n_suggestion = n_suggestion + $4 WHERE id = $1"};

constexpr pg::Statement kRaise{
    "classification.raise_revision_of",
    "UPDATE classification.videos SET revision = revision + 1 WHERE number = $1"};

constexpr pg::Statement kAppeal{
    "classification.create_appeal",
    "INSERT INTO classification.appeals AS a (video, comment, request_id, status, actor, note, "
    "create_time) VALUES ($1, $2, $3, $4, $5, $6, $7::timestamptz) "
    "ON CONFLICT (video, request_id) DO UPDATE SET request_id = excluded.request_id "
    "RETURNING a.id, (xmax = 0)"};
#define WINNOW_APPEAL                                                                    \
  "SELECT a.id, c.id, a.status, a.actor, a.note, a.resolved, a.granted, a.create_time, " \
  "w.namespace, w.video_id FROM classification.appeals a "                               \
  "JOIN classification.comments c ON c.number = a.comment "                              \
  "JOIN classification.videos w ON w.number = a.video WHERE a.id = $1"
constexpr pg::Statement kReadAppeal{"classification.read_appeal", WINNOW_APPEAL};
constexpr pg::Statement kCloseAppeal{
    "classification.close_appeal",
    "UPDATE classification.appeals SET resolved = TRUE, granted = $2 "
    "WHERE id = $1 AND NOT resolved"};

constexpr pg::Statement kGetPolicy{
    "classification.get_policy",
    "SELECT version, body FROM classification.policies WHERE namespace = $1 AND name = $2 "
    "AND ($3::bigint = 0 OR version = $3::bigint) ORDER BY version DESC LIMIT 1"};
constexpr pg::Statement kPutPolicy{
    "classification.put_policy",
    "INSERT INTO classification.policies (namespace, name, version, body, create_time) "
    "SELECT $1, $2, $3::bigint, $5::bytea, $6::timestamptz WHERE coalesce((SELECT max(version) "
    "FROM classification.policies WHERE namespace = $1 AND name = $2), $4::bigint) = $3::bigint - "
    "1 "
    "ON CONFLICT DO NOTHING"};

#define WINNOW_AUDIT_COLUMNS \
  "id, video_id, comment_id, run, actor, action, before, after, note, create_time"
constexpr pg::Statement kListAudit{"classification.list_audit",
                                   "SELECT " WINNOW_AUDIT_COLUMNS
                                   " FROM classification.audit_entries WHERE namespace = $1 "
                                   "AND id < $2 ORDER BY id DESC LIMIT $3"};
constexpr pg::Statement kListAuditOf{"classification.list_audit_of",
                                     "SELECT " WINNOW_AUDIT_COLUMNS
                                     " FROM classification.audit_entries WHERE namespace = $1 "
                                     "AND id < $2 AND video_id = $4 ORDER BY id DESC LIMIT $3"};
// Below the oldest transaction in flight everything is settled: nothing can come before it later.
constexpr pg::Statement kChanges{
    "classification.read_changes",
    "SELECT " WINNOW_AUDIT_COLUMNS
    ", writer::text FROM classification.audit_entries "
    "WHERE namespace = $1 AND (writer, id) > ($2::text::xid8, $3::bigint) "
    "AND writer < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY writer, id LIMIT $4"};
constexpr pg::Statement kHead{"classification.changes_head",
                              "SELECT pg_snapshot_xmin(pg_current_snapshot())::text"};

AuditEntry ToAudit(const pqxx::row& row) {
  AuditEntry entry;
  entry.id = row[0].as<int64_t>();
  entry.video_id = row[1].as<std::string>();
  entry.comment_id = row[2].as<std::string>();
  entry.run = row[3].as<int64_t>();
  entry.actor = row[4].as<std::string>();
  entry.action = row[5].as<std::string>();
  entry.before = row[6].as<std::string>();
  entry.after = row[7].as<std::string>();
  entry.note = row[8].as<std::string>();
  entry.create_time = pg::ToTime(row[9]);
  return entry;
}

// Changes of counts by run.
using Shifts = std::map<int64_t, StatusCounts>;

void Apply(pg::Session& session, const Shifts& shifts) {
  for (const auto& [run, counts] : shifts) {
    session.Execute(kShift, run, counts[1], counts[2], counts[3]);
  }
}

pg::Array ToArray(const std::vector<int64_t>& numbers) {
  pg::Array array;
  for (const int64_t number : numbers) array.Add(number);
  return array;
}

// The video is locked alone. Answers the status that each comment had in the active run.
std::map<int64_t, CommentStatus> SetOverrides(pg::Session& session, const VideoRow& video,
                                              const std::vector<int64_t>& comments,
                                              const OverrideRequest& request, int64_t bulk,
                                              Time now) {
  const pg::Array array = ToArray(comments);
  const int status = static_cast<int>(request.status);
  Shifts shifts;
  std::map<int64_t, CommentStatus> before;
  for (const pqxx::row& row : session.Execute(kBefore, video.number, array)) {
    const auto run = row[0].as<int64_t>();
    StatusCounts& counts = shifts[run];
    --counts[row[2].as<size_t>()];
    ++counts[static_cast<size_t>(status)];
    if (run == video.active_run) {
      before[row[1].as<int64_t>()] = static_cast<CommentStatus>(row[2].as<int>());
    }
  }
  if (request.dry_run) return before;
  session.Execute(kOverride, video.number, array, status, request.reason, request.actor, bulk, now);
  session.Execute(kResolve, video.number, array, status);
  Apply(session, shifts);
  session.Execute(kRaise, video.number);
  return before;
}

StatusOr<OverrideResult> RunOverride(pg::Session& session, const OverrideRequest& request,
                                     Time now) {
  WINNOW_ASSIGN_OR_RETURN(const VideoRow video, LockVideo(session, request.video, Lock::kUpdate));
  const std::vector<FoundComment> found = Find(session, video.number, request.comment_ids);
  std::vector<int64_t> comments;
  std::map<int64_t, std::string> names;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].ambiguous) {
      return FailedPrecondition("the alias " + request.comment_ids[i] +
                                " is of several comments: use the full id");
    }
    if (found[i].number == 0) return NotFound("comment", request.comment_ids[i]);
    if (names.emplace(found[i].number, request.comment_ids[i]).second) {
      comments.push_back(found[i].number);
    }
  }
  OverrideResult result;
  if (request.bulk && !request.dry_run) {
    result.bulk = session.Execute(kNextBulk)[0][0].as<int64_t>();
  }
  const auto before = SetOverrides(session, video, comments, request, result.bulk, now);
  for (const auto& [number, status] : before) {
    ++(status == request.status ? result.same : result.changed);
    if (request.dry_run) continue;
    AddAudit(session, request.video.ns,
             {.video_id = request.video.video_id,
              .comment_id = names[number],
              .actor = request.actor,
              .action = request.action,
              .before = NameOf(status),
              .after = NameOf(request.status),
              .note = request.note},
             now);
  }
  return result;
}

}  // namespace

StatusOr<OverrideResult> Store::Override(Deadline deadline, const OverrideRequest& request) {
  const Time now = clock_.Now();
  return writes_.Write(deadline,
                       [&](pg::Session& session) { return RunOverride(session, request, now); });
}

StatusOr<int64_t> Store::UndoOverrides(Deadline deadline, const VideoKey& key,
                                       const std::string& comment_id, int64_t bulk,
                                       const std::string& actor, const std::string& note) {
  const Time now = clock_.Now();
  return writes_.Write(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    WINNOW_ASSIGN_OR_RETURN(const VideoRow video, LockVideo(session, key, Lock::kUpdate));
    int64_t number = 0;
    if (!comment_id.empty()) {
      const std::string ids[] = {comment_id};
      const FoundComment found = Find(session, video.number, ids)[0];
      if (found.ambiguous) return FailedPrecondition("the alias is of several comments");
      if (found.number == 0) return NotFound("comment", comment_id);
      number = found.number;
    }
    std::vector<int64_t> comments;
    for (const pqxx::row& row : session.Execute(kOverridesOf, video.number, number, bulk)) {
      comments.push_back(row[0].as<int64_t>());
      AddAudit(session, key.ns,
               {.video_id = key.video_id,
                .comment_id = row[2].as<std::string>(),
                .actor = actor,
                .action = "undo",
                .before = NameOf(static_cast<CommentStatus>(row[1].as<int>())),
                .note = note},
               now);
    }
    if (comments.empty()) return int64_t{0};
    const pg::Array array = ToArray(comments);
    Shifts shifts;
    for (const pqxx::row& row : session.Execute(kBefore, video.number, array)) {
      StatusCounts& counts = shifts[row[0].as<int64_t>()];
      --counts[row[2].as<size_t>()];
      ++counts[row[3].as<size_t>()];
    }
    session.Execute(kUnresolve, video.number, array);
    session.Execute(kDropOverrides, video.number, array);
    Apply(session, shifts);
    session.Execute(kRaise, video.number);
    return static_cast<int64_t>(comments.size());
  });
}

StatusOr<Appeal> Store::CreateAppeal(Deadline deadline, const VideoKey& key,
                                     const std::string& comment_id, const std::string& actor,
                                     const std::string& note, const std::string& request_id) {
  const std::string ids[] = {comment_id};
  WINNOW_ASSIGN_OR_RETURN(const auto current, GetClassifications(deadline, key, ids));
  if (!current[0]) return NotFound("comment", comment_id);
  if (current[0]->number < 0) return FailedPrecondition("the alias is of several comments");
  const Time now = clock_.Now();
  return writes_.Write(deadline, [&](pg::Session& session) -> StatusOr<Appeal> {
    WINNOW_ASSIGN_OR_RETURN(const VideoRow video, LockVideo(session, key, Lock::kShare));
    const pqxx::row made =
        session.Execute(kAppeal, video.number, current[0]->number, request_id,
                        static_cast<int>(current[0]->status), actor, note, now)[0];
    const pqxx::row row = session.Execute(kReadAppeal, made[0].as<int64_t>())[0];
    if (made[1].as<bool>()) {
      AddAudit(session, key.ns,
               {.video_id = key.video_id,
                .comment_id = row[1].as<std::string>(),
                .actor = actor,
                .action = "appeal",
                .before = NameOf(current[0]->status),
                .note = note},
               now);
    }
    return Appeal{row[0].as<int64_t>(),
                  row[1].as<std::string>(),
                  static_cast<CommentStatus>(row[2].as<int>()),
                  row[3].as<std::string>(),
                  row[4].as<std::string>(),
                  row[5].as<bool>(),
                  row[6].as<bool>(),
                  pg::ToTime(row[7])};
  });
}

StatusOr<Appeal> Store::ResolveAppeal(Deadline deadline, const Resolution& resolution) {
  const Time now = clock_.Now();
  return writes_.Write(deadline, [&](pg::Session& session) -> StatusOr<Appeal> {
    const pqxx::result rows = session.Execute(kReadAppeal, resolution.appeal);
    if (rows.empty()) return NotFound("appeal", std::to_string(resolution.appeal));
    const pqxx::row row = rows[0];
    Appeal appeal{row[0].as<int64_t>(),
                  row[1].as<std::string>(),
                  static_cast<CommentStatus>(row[2].as<int>()),
                  row[3].as<std::string>(),
                  row[4].as<std::string>(),
                  true,
                  resolution.grant,
                  pg::ToTime(row[7])};
    const VideoKey key{row[8].as<std::string>(), row[9].as<std::string>()};
    WINNOW_RETURN_IF_ERROR(LockVideo(session, key, Lock::kUpdate).status());
    if (session.Execute(kCloseAppeal, resolution.appeal, resolution.grant).affected_rows() == 0) {
      return FailedPrecondition("the appeal is resolved already");
    }
    if (resolution.grant) {
      OverrideRequest request;
      request.video = key;
      request.comment_ids = {appeal.comment_id};
      request.status = resolution.status;
      request.reason = resolution.status == CommentStatus::kFiltered ? "moderator" : "";
      request.actor = resolution.actor;
      request.note = resolution.note;
      request.action = "appeal_granted";
      WINNOW_RETURN_IF_ERROR(RunOverride(session, request, now).status());
    } else {
      AddAudit(session, key.ns,
               {.video_id = key.video_id,
                .comment_id = appeal.comment_id,
                .actor = resolution.actor,
                .action = "appeal_rejected",
                .note = resolution.note},
               now);
    }
    return appeal;
  });
}

StatusOr<Store::PolicyRow> Store::GetPolicy(Deadline deadline, const std::string& ns,
                                            const std::string& name, int64_t version) {
  return reads_.Read(deadline, [&](pg::Session& session) -> StatusOr<PolicyRow> {
    const pqxx::result rows = session.Execute(kGetPolicy, ns, name, version);
    if (rows.empty()) return NotFound("policy", name);
    return PolicyRow{rows[0][0].as<int64_t>(), pg::ToBytes(rows[0][1])};
  });
}

StatusOr<int64_t> Store::PutPolicy(Deadline deadline, const std::string& ns,
                                   const std::string& name, int64_t base, int64_t first,
                                   const std::string& body, const AuditEntry& audit) {
  const Time now = clock_.Now();
  return writes_.Write(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    const auto put =
        session.Execute(kPutPolicy, ns, name, base + 1, first, pg::ToParameterBytes(body), now);
    if (put.affected_rows() == 0) {
      return Aborted(Reason::kStaleEtag, "the policy has another version now: read it again");
    }
    AddAudit(session, ns, audit, now);
    return base + 1;
  });
}

StatusOr<std::vector<AuditEntry>> Store::ListAudit(Deadline deadline, const std::string& ns,
                                                   const std::string& video_id, int64_t before,
                                                   int count) {
  return reads_.Read(deadline, [&](pg::Session& session) -> StatusOr<std::vector<AuditEntry>> {
    const pqxx::result rows = video_id.empty()
                                  ? session.Execute(kListAudit, ns, before, count)
                                  : session.Execute(kListAuditOf, ns, before, count, video_id);
    std::vector<AuditEntry> entries;
    for (const pqxx::row& row : rows) entries.push_back(ToAudit(row));
    return entries;
  });
}

StatusOr<std::vector<Store::Change>> Store::ReadChanges(Deadline deadline, const std::string& ns,
                                                        uint64_t writer, int64_t id, int count) {
  return reads_.Read(deadline, [&](pg::Session& session) -> StatusOr<std::vector<Change>> {
    std::vector<Change> changes;
    for (const pqxx::row& row : session.Execute(kChanges, ns, std::to_string(writer), id, count)) {
      changes.push_back({ToAudit(row), row[10].as<uint64_t>()});
    }
    return changes;
  });
}

StatusOr<uint64_t> Store::ChangesHead(Deadline deadline) {
  return reads_.Read(deadline, [&](pg::Session& session) -> StatusOr<uint64_t> {
    return session.Execute(kHead)[0][0].as<uint64_t>();
  });
}

}  // namespace winnow::classification
