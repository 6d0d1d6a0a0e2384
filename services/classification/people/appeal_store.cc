#include "services/classification/people/appeal_store.h"

#include "services/classification/audit/audit_store.h"
#include "services/classification/comments/comment_sql.h"
#include "services/classification/comments/request_store.h"
#include "services/classification/people/appeal_store.sql.h"
#include "services/classification/people/override_store.h"

namespace winnow::classification {
namespace {

Appeal ToAppeal(const pqxx::row& row) {
  return {row[0].as<int64_t>(),
          {row[1].as<std::string>(), row[2].as<std::string>()},
          row[3].as<std::string>(),
          static_cast<CommentStatus>(row[4].as<int>()),
          static_cast<AppealState>(row[5].as<int>()),
          row[6].as<std::string>(),
          row[7].as<std::string>(),
          pg::ToTime(row[8]),
          row[9].as<std::string>(),
          row[10].as<std::string>(),
          pg::ToOptionalTime(row[11])};
}

StatusOr<Appeal> Read(pg::Session& session, const NumberKey& key) {
  const pqxx::result rows = session.Execute(sql::kReadAppeal, key.id, key.ns);
  if (rows.empty()) return NotFound("appeal", std::to_string(key.id));
  return ToAppeal(rows[0]);
}

// Granting is an override, audited as "appeal_granted".
Status Answer(pg::Session& session, const Appeal& appeal, const AppealStore::Resolution& resolution,
              Time now) {
  if (resolution.state == AppealState::kGranted) {
    OverrideRequest request;
    request.video = appeal.video;
    request.comment_ids = {appeal.comment_id};
    request.status = resolution.status;
    request.reason = resolution.status == CommentStatus::kFiltered ? "moderator" : "";
    request.actor = resolution.author.actor;
    request.note = resolution.author.note;
    request.action = "appeal_granted";
    request.appeal = appeal.id;
    return RunOverride(session, request, now).status();
  }
  AddAudit(session, appeal.video.ns,
           {.video_id = appeal.video.video_id,
            .comment_id = appeal.comment_id,
            .appeal = appeal.id,
            .actor = resolution.author.actor,
            .action = "appeal_rejected",
            .note = resolution.author.note},
           now);
  return OkStatus();
}

}  // namespace

StatusOr<Appeal> AppealStore::CreateAppeal(Deadline deadline, const NewAppeal& made) {
  const std::string ids[] = {made.comment_id};
  WINNOW_ASSIGN_OR_RETURN(const auto current,
                          verdicts_.GetClassifications(deadline, made.video, ids));
  if (!current[0]) return NotFound("comment", made.comment_id);
  if (current[0]->number < 0) {
    return FailedPrecondition("the alias " + made.comment_id +
                              " is of several comments: use the full id");
  }
  const Time now = clock_.Now();
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Appeal> {
    const std::string& ns = made.video.ns;
    WINNOW_ASSIGN_OR_RETURN(const VideoRow video, LockVideo(session, made.video, Lock::kUpdate));
    WINNOW_ASSIGN_OR_RETURN(const auto done, Recall(session, made.request));
    if (done) return Read(session, {ns, (*done)[0]});
    const auto id = session
                        .Execute(sql::kCreateAppeal, video.number, ns, current[0]->number,
                                 static_cast<int>(current[0]->status), made.author.actor,
                                 made.author.note, now)[0][0]
                        .as<int64_t>();
    AddAudit(session, ns,
             {.video_id = made.video.video_id,
              .comment_id = current[0]->comment_id,
              .appeal = id,
              .actor = made.author.actor,
              .action = "appeal",
              .before = NameOf(current[0]->status),
              .note = made.author.note},
             now);
    WINNOW_RETURN_IF_ERROR(Remember(session, made.request, video.number, {id}, now));
    return Read(session, {ns, id});
  });
}

StatusOr<Appeal> AppealStore::GetAppeal(Deadline deadline, const NumberKey& key) {
  return reads_.Statements(deadline, [&](pg::Session& session) { return Read(session, key); });
}

StatusOr<std::vector<Appeal>> AppealStore::ListAppeals(Deadline deadline,
                                                       const AppealQuery& query) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::vector<Appeal>> {
    const int state = static_cast<int>(query.state);
    pqxx::result rows;
    if (!query.video_id.empty()) {
      WINNOW_ASSIGN_OR_RETURN(const VideoRow video, FindVideo(session, {query.ns, query.video_id}));
      rows =
          session.Execute(sql::kListAppealsOfVideo, video.number, query.before, query.count, state);
    } else if (state != 0) {
      rows = session.Execute(sql::kListAppealsInState, query.ns, query.before, query.count, state);
    } else {
      rows = session.Execute(sql::kListAppeals, query.ns, query.before, query.count);
    }
    std::vector<Appeal> appeals;
    for (const pqxx::row& row : rows) appeals.push_back(ToAppeal(row));
    return appeals;
  });
}

StatusOr<Appeal> AppealStore::ResolveAppeal(Deadline deadline, const Resolution& resolution) {
  const Time now = clock_.Now();
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Appeal> {
    WINNOW_ASSIGN_OR_RETURN(const Appeal appeal, Read(session, resolution.appeal));
    WINNOW_ASSIGN_OR_RETURN(const VideoRow video, LockVideo(session, appeal.video, Lock::kUpdate));
    WINNOW_ASSIGN_OR_RETURN(const auto done, Recall(session, resolution.request));
    if (done) return Read(session, resolution.appeal);
    const auto closed =
        session.Execute(sql::kCloseAppeal, appeal.id, static_cast<int>(resolution.state),
                        resolution.author.actor, resolution.author.note, now);
    if (closed.affected_rows() == 0) {
      return FailedPrecondition("the appeal is resolved already");
    }
    WINNOW_RETURN_IF_ERROR(Answer(session, appeal, resolution, now));
    WINNOW_RETURN_IF_ERROR(Remember(session, resolution.request, video.number, {appeal.id}, now));
    return Read(session, resolution.appeal);
  });
}

}  // namespace winnow::classification
