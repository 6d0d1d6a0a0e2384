#include "services/classification/people/override_store.h"

#include <map>

#include "services/classification/audit/audit_store.h"
#include "services/classification/comments/comment_sql.h"
#include "services/classification/comments/request_store.h"
#include "services/classification/people/override_store.sql.h"

namespace winnow::classification {
namespace {

// Changes of counts by run.
using Shifts = std::map<int64_t, StatusCounts>;

void Apply(pg::Session& session, const Shifts& shifts) {
  for (const auto& [run, counts] : shifts) {
    session.Execute(sql::kShiftCounts, run, counts[1], counts[2], counts[3]);
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
  for (const pqxx::row& row : session.Execute(sql::kBeforeOverride, video.number, array)) {
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
    session.Execute(sql::kCoverOverrides, array);
    session.Execute(sql::kTrimCoveredOverrides, array);
  } else {
    session.Execute(sql::kForgetCoveredOverrides, array);
  }
  session.Execute(sql::kOverride, video.number, array, status, request.reason, request.actor, bulk,
                  now);
  pg::Array statuses;
  for (size_t i = 0; i < comments.size(); ++i) statuses.Add(status);
  session.Execute(sql::kResolveOverride, video.number, array, statuses);
  Apply(session, shifts);
  session.Execute(sql::kRaiseRevisionOf, video.number);
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
  for (const pqxx::row& row : session.Execute(sql::kBeforeOverride, video.number, all)) {
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
  session.Execute(sql::kUndoOverride, video.number, gone);
  session.Execute(sql::kDropOverrides, video.number, gone);
  session.Execute(sql::kResolveOverride, video.number, back, statuses);
  Apply(session, shifts);
  session.Execute(sql::kRaiseRevisionOf, video.number);
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
    result.bulk = session.Execute(sql::kNextBulk)[0][0].as<int64_t>();
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
    const pqxx::result rows = session.Execute(sql::kOverridesOf, video.number, one, request.bulk);
    std::vector<int64_t> comments;
    for (const pqxx::row& row : rows) comments.push_back(row[0].as<int64_t>());
    std::map<int64_t, CommentStatus> restored;
    if (one != 0) {
      session.Execute(sql::kForgetCoveredOverrides, ToArray(comments));
    } else {
      session.Execute(sql::kForgetCoveredBulk, video.number, request.bulk);
      for (const pqxx::row& row : session.Execute(sql::kUncoverOverrides, ToArray(comments))) {
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
