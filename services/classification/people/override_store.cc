#include "services/classification/people/override_store.h"

#include <map>

#include "services/classification/audit/audit_store.h"
#include "services/classification/comments/comment_sql.h"
#include "services/classification/comments/request_store.h"

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
    "SELECT r.id, c.number, u.status, TRUE, c.sort_time FROM classification.runs r "
    "CROSS JOIN unnest($2::bigint[], $3::smallint[]) AS u(comment, status) CROSS JOIN LATERAL "
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
// A bulk stands above what was there; the newest 10 of a comment come to hold again.
constexpr pg::Statement kCover{
    "classification.cover_overrides",
    "INSERT INTO classification.covered_overrides (comment, video, status, reason, actor, bulk, "
    "create_time) SELECT comment, video, status, reason, actor, bulk, create_time "
    "FROM classification.overrides WHERE comment = ANY($1::bigint[])"};
constexpr pg::Statement kTrim{
    "classification.trim_covered_overrides",
    "DELETE FROM classification.covered_overrides WHERE place IN (SELECT place FROM (SELECT place, "
    "row_number() OVER (PARTITION BY comment ORDER BY place DESC) AS n "
    "FROM classification.covered_overrides WHERE comment = ANY($1::bigint[])) k WHERE n > 10)"};
constexpr pg::Statement kForget{
    "classification.forget_covered_overrides",
    "DELETE FROM classification.covered_overrides WHERE comment = ANY($1::bigint[])"};
constexpr pg::Statement kForgetBulk{
    "classification.forget_covered_bulk",
    "DELETE FROM classification.covered_overrides WHERE video = $1 AND bulk = $2"};
constexpr pg::Statement kUncover{
    "classification.uncover_overrides",
    "WITH top AS (DELETE FROM classification.covered_overrides WHERE place IN (SELECT max(place) "
    "  FROM classification.covered_overrides WHERE comment = ANY($1::bigint[]) GROUP BY comment) "
    "  RETURNING comment, status, reason, actor, bulk, create_time) "
    "UPDATE classification.overrides o SET status = top.status, reason = top.reason, "
    "actor = top.actor, bulk = top.bulk, create_time = top.create_time FROM top "
    "WHERE o.comment = top.comment RETURNING o.comment, o.status"};
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
  if (request.bulk) {
    session.Execute(kCover, array);
    session.Execute(kTrim, array);
  } else {
    session.Execute(kForget, array);
  }
  session.Execute(kOverride, video.number, array, status, request.reason, request.actor, bulk, now);
  pg::Array statuses;
  for (size_t i = 0; i < comments.size(); ++i) statuses.Add(status);
  session.Execute(kResolve, video.number, array, statuses);
  Apply(session, shifts);
  session.Execute(kRaise, video.number);
  return before;
}

// Takes the overrides of these comments back, of which some give way to an earlier one; answers
// what each comment is then in the active run.
std::map<int64_t, CommentStatus> TakeBack(pg::Session& session, const VideoRow& video,
                                          const std::vector<int64_t>& comments,
                                          const std::map<int64_t, CommentStatus>& restored) {
  Shifts shifts;
  std::map<int64_t, CommentStatus> after;
  const pg::Array all = ToArray(comments);
  for (const pqxx::row& row : session.Execute(kBefore, video.number, all)) {
    const auto run = row[0].as<int64_t>();
    const auto comment = row[1].as<int64_t>();
    const auto earlier = restored.find(comment);
    const auto now =
        earlier != restored.end() ? earlier->second : static_cast<CommentStatus>(row[3].as<int>());
    StatusCounts& counts = shifts[run];
    --counts[row[2].as<size_t>()];
    ++counts[static_cast<size_t>(now)];
    if (run == video.active_run) after[comment] = now;
  }
  pg::Array gone, back, statuses;
  for (const int64_t comment : comments) {
    const auto earlier = restored.find(comment);
    if (earlier == restored.end()) {
      gone.Add(comment);
    } else {
      back.Add(comment);
      statuses.Add(static_cast<int>(earlier->second));
    }
  }
  session.Execute(kUnresolve, video.number, gone);
  session.Execute(kDropOverrides, video.number, gone);
  session.Execute(kResolve, video.number, back, statuses);
  Apply(session, shifts);
  session.Execute(kRaise, video.number);
  return after;
}

StatusOr<int64_t> FindOne(pg::Session& session, const VideoRow& video, const std::string& id) {
  const std::string ids[] = {id};
  const FoundComment found = FindComments(session, video.number, ids)[0];
  if (found.ambiguous) {
    return FailedPrecondition("the alias " + id + " is of several comments: use the full id");
  }
  if (found.number == 0) return NotFound("comment", id);
  return found.number;
}

}  // namespace

StatusOr<OverrideResult> RunOverride(pg::Session& session, const OverrideRequest& request,
                                     Time now) {
  WINNOW_ASSIGN_OR_RETURN(const VideoRow video, LockVideo(session, request.video, Lock::kUpdate));
  WINNOW_ASSIGN_OR_RETURN(const auto done, Recall(session, request.request));
  if (done) return OverrideResult{(*done)[0], (*done)[1], (*done)[2]};
  const std::vector<FoundComment> found = FindComments(session, video.number, request.comment_ids);
  std::vector<int64_t> comments;
  std::map<int64_t, std::string> names;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].ambiguous) {
      return FailedPrecondition("the alias " + request.comment_ids[i] +
                                " is of several comments: use the full id");
    }
    if (found[i].number == 0) return NotFound("comment", request.comment_ids[i]);
    if (names.emplace(found[i].number, found[i].id).second) {
      comments.push_back(found[i].number);
    }
  }
  OverrideResult result;
  if (request.bulk && !request.dry_run) {
    result.bulk = session.Execute(kNextBulk)[0][0].as<int64_t>();
  }
  const auto before = SetOverrides(session, video, comments, request, result.bulk, now);
  std::vector<AuditedComment> audited;
  for (const auto& [number, status] : before) {
    ++(status == request.status ? result.same : result.changed);
    audited.push_back({names[number], NameOf(status), NameOf(request.status)});
  }
  if (request.dry_run) return result;
  AddAudits(session, request.video.ns,
            {.video_id = request.video.video_id,
             .appeal = request.appeal,
             .actor = request.actor,
             .action = request.action,
             .note = request.note},
            audited, now);
  WINNOW_RETURN_IF_ERROR(Remember(session, request.request, video.number,
                                  {result.changed, result.same, result.bulk}, now));
  return result;
}

StatusOr<OverrideResult> OverrideStore::Override(Deadline deadline,
                                                 const OverrideRequest& request) {
  const Time now = clock_.Now();
  return writes_.Transaction(
      deadline, [&](pg::Session& session) { return RunOverride(session, request, now); });
}

StatusOr<UndoResult> OverrideStore::UndoOverrides(Deadline deadline, const UndoRequest& request) {
  const Time now = clock_.Now();
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<UndoResult> {
    WINNOW_ASSIGN_OR_RETURN(const VideoRow video, LockVideo(session, request.video, Lock::kUpdate));
    WINNOW_ASSIGN_OR_RETURN(const auto done, Recall(session, request.request));
    if (done) return UndoResult{(*done)[0], (*done)[1]};
    int64_t one = 0;
    if (!request.comment_id.empty()) {
      WINNOW_ASSIGN_OR_RETURN(one, FindOne(session, video, request.comment_id));
    }
    const pqxx::result rows = session.Execute(kOverridesOf, video.number, one, request.bulk);
    std::vector<int64_t> comments;
    for (const pqxx::row& row : rows) comments.push_back(row[0].as<int64_t>());
    std::map<int64_t, CommentStatus> restored;
    if (one != 0) {
      session.Execute(kForget, ToArray(comments));
    } else {
      session.Execute(kForgetBulk, video.number, request.bulk);
      for (const pqxx::row& row : session.Execute(kUncover, ToArray(comments))) {
        restored[row[0].as<int64_t>()] = static_cast<CommentStatus>(row[1].as<int>());
      }
    }
    UndoResult result{static_cast<int64_t>(comments.size()), static_cast<int64_t>(restored.size())};
    if (!comments.empty()) {
      const auto after = TakeBack(session, video, comments, restored);
      std::vector<AuditedComment> audited;
      for (const pqxx::row& row : rows) {
        audited.push_back({row[2].as<std::string>(),
                           NameOf(static_cast<CommentStatus>(row[1].as<int>())),
                           NameOf(after.at(row[0].as<int64_t>()))});
      }
      AddAudits(session, request.video.ns,
                {.video_id = request.video.video_id,
                 .actor = request.actor,
                 .action = "undo",
                 .note = request.note},
                audited, now);
    }
    WINNOW_RETURN_IF_ERROR(
        Remember(session, request.request, video.number, {result.undone, result.restored}, now));
    return result;
  });
}

}  // namespace winnow::classification
