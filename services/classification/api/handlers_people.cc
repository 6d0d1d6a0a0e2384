#include <limits>

#include "services/classification/api/handlers.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/page_token.h"

// What people say of verdicts: overrides and appeals.
namespace winnow::classification {
namespace {

constexpr uint8_t kAppealToken = 47;

// What both overriding calls ask for.
template <class Request>
OverrideRequest ToOverride(const rpc::CallContext& call, const Request& request,
                           Violations& violations) {
  OverrideRequest override;
  override.video = ToVideoKey(request.namespace_(), request.video_id(), violations);
  override.status = ToStatus(request.status(), "status", violations);
  override.reason = request.reason();
  if (override.reason.empty() && override.status == CommentStatus::kFiltered) {
    override.reason = "moderator";
  }
  if (!IsReason(override.reason)) {
    violations.Add("reason", "must be [a-z0-9_], at most 64 characters");
  }
  const Actor speaker = ToActor(call, request, violations);
  override.actor = speaker.actor;
  override.note = speaker.note;
  return override;
}

uint64_t FilterOf(const AppealStore::AppealQuery& query) {
  return Hash64(query.ns + "/" + query.video_id + "/" +
                std::to_string(static_cast<int>(query.state)));
}

}  // namespace

StatusOr<OverrideResult> Handlers::Override(const rpc::CallContext& call,
                                            const OverrideRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const OverrideResult result,
                          stores_.overrides.Override(call.deadline, request));
  if (!request.dry_run) {
    metrics_.CountOverrides(result.changed, result.same);
    WakeProjection();
  }
  return result;
}

StatusOr<v1::OverrideClassificationResponse> Handlers::OverrideClassification(
    const rpc::CallContext& call, const v1::OverrideClassificationRequest& request) {
  Violations violations;
  OverrideRequest override = ToOverride(call, request, violations);
  CheckNoNul(request.comment_id(), "comment_id", violations);
  override.request = ToRequestKey(override.video.ns, "OverrideClassification", request.request_id(),
                                  request, Needed::kNo, violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  override.comment_ids = {request.comment_id()};
  WINNOW_RETURN_IF_ERROR(Override(call, override).status());
  v1::GetClassificationRequest read;
  read.set_namespace_(override.video.ns);
  read.set_video_id(override.video.video_id);
  read.set_comment_id(request.comment_id());
  WINNOW_ASSIGN_OR_RETURN(v1::GetClassificationResponse now, GetClassification(call, read));
  return rpc::Respond(&v1::OverrideClassificationResponse::mutable_classification,
                      std::move(*now.mutable_classification()));
}

StatusOr<v1::BulkOverrideClassificationsResponse> Handlers::BulkOverrideClassifications(
    const rpc::CallContext& call, const v1::BulkOverrideClassificationsRequest& request) {
  Violations violations;
  OverrideRequest override = ToOverride(call, request, violations);
  override.comment_ids.assign(request.comment_ids().begin(), request.comment_ids().end());
  CheckCommentIds(override.comment_ids, violations);
  override.dry_run = request.dry_run();
  const Needed needed = request.dry_run() ? Needed::kNo : Needed::kYes;
  override.request = ToRequestKey(override.video.ns, "BulkOverrideClassifications",
                                  request.request_id(), request, needed, violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  if (override.dry_run) override.request = {};
  override.bulk = true;
  override.action = "bulk_override";
  WINNOW_ASSIGN_OR_RETURN(const OverrideResult result, Override(call, override));
  v1::BulkOverrideClassificationsResponse response;
  response.set_changed_count(result.changed);
  response.set_same_count(result.same);
  response.set_bulk_id(ToId(result.bulk));
  return response;
}

StatusOr<v1::UndoOverrideResponse> Handlers::UndoOverride(const rpc::CallContext& call,
                                                          const v1::UndoOverrideRequest& request) {
  Violations violations;
  UndoRequest undo;
  undo.video = ToVideoKey(request.namespace_(), request.video_id(), violations);
  undo.comment_id = request.comment_id();
  undo.bulk = ToNumber(request.bulk_id());
  if (request.comment_id().empty() && request.bulk_id().empty()) {
    violations.Add("target", "is required: set comment_id or bulk_id");
  }
  CheckNoNul(request.comment_id(), "comment_id", violations);
  const Actor speaker = ToActor(call, request, violations);
  undo.actor = speaker.actor;
  undo.note = speaker.note;
  undo.request = ToRequestKey(undo.video.ns, "UndoOverride", request.request_id(), request,
                              Needed::kNo, violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  if (undo.comment_id.empty() && undo.bulk == 0) return NotFound("bulk", request.bulk_id());
  WINNOW_ASSIGN_OR_RETURN(const UndoResult result,
                          stores_.overrides.UndoOverrides(call.deadline, undo));
  if (result.undone > 0) WakeProjection();
  v1::UndoOverrideResponse response;
  response.set_undone_count(result.undone);
  response.set_restored_count(result.restored);
  return response;
}

StatusOr<v1::CreateAppealResponse> Handlers::CreateAppeal(const rpc::CallContext& call,
                                                          const v1::CreateAppealRequest& request) {
  Violations violations;
  AppealStore::NewAppeal appeal;
  appeal.video = ToVideoKey(request.namespace_(), request.video_id(), violations);
  appeal.comment_id = request.comment_id();
  appeal.author = ToActor(call, request, violations);
  if (request.note().empty()) violations.Add("note", "is required: say why");
  CheckNoNul(request.comment_id(), "comment_id", violations);
  appeal.request = ToRequestKey(appeal.video.ns, "CreateAppeal", request.request_id(), request,
                                Needed::kYes, violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const Appeal made, stores_.appeals.CreateAppeal(call.deadline, appeal));
  return rpc::Respond(&v1::CreateAppealResponse::mutable_appeal, ToProto(made));
}

StatusOr<v1::GetAppealResponse> Handlers::GetAppeal(const rpc::CallContext& call,
                                                    const v1::GetAppealRequest& request) {
  Violations violations;
  WINNOW_ASSIGN_OR_RETURN(const NumberKey key, ToKey(request.namespace_(), request.appeal_id(),
                                                     "appeal_id", "appeal", violations));
  WINNOW_ASSIGN_OR_RETURN(const Appeal appeal, stores_.appeals.GetAppeal(call.deadline, key));
  return rpc::Respond(&v1::GetAppealResponse::mutable_appeal, ToProto(appeal));
}

StatusOr<v1::ListAppealsResponse> Handlers::ListAppeals(const rpc::CallContext& call,
                                                        const v1::ListAppealsRequest& request) {
  Violations violations;
  AppealStore::AppealQuery query;
  query.ns = ToNamespace(request.namespace_(), violations);
  query.video_id = request.video_id();
  if (!query.video_id.empty()) ToVideoKey("", query.video_id, violations);
  if (request.state() < 0 || request.state() > v1::APPEAL_STATE_REJECTED) {
    violations.Add("state", "must be OPEN, GRANTED or REJECTED; unset means any");
  }
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  query.state = static_cast<AppealState>(request.state());
  WINNOW_ASSIGN_OR_RETURN(const int size, PageSize(request.page_size(), 100, 1000));
  query.before = std::numeric_limits<int64_t>::max();
  query.count = size + 1;
  WINNOW_RETURN_IF_ERROR(
      ReadPageToken(request.page_token(), kAppealToken, FilterOf(query), query.before));
  WINNOW_ASSIGN_OR_RETURN(std::vector<Appeal> appeals,
                          stores_.appeals.ListAppeals(call.deadline, query));
  v1::ListAppealsResponse response;
  if (TrimPage(appeals, size))
    response.set_next_page_token(MakePageToken(kAppealToken, FilterOf(query), appeals.back().id));
  for (const Appeal& appeal : appeals) *response.add_appeals() = ToProto(appeal);
  return response;
}

StatusOr<v1::ResolveAppealResponse> Handlers::ResolveAppeal(
    const rpc::CallContext& call, const v1::ResolveAppealRequest& request) {
  Violations violations;
  AppealStore::Resolution resolution;
  if (request.state() == v1::APPEAL_STATE_GRANTED) {
    resolution.status = ToStatus(request.status(), "status", violations);
  } else if (request.state() != v1::APPEAL_STATE_REJECTED) {
    violations.Add("state", "is required: set GRANTED or REJECTED");
  } else if (request.status() != v1::COMMENT_STATUS_UNSPECIFIED) {
    violations.Add("status", "is for GRANTED: a rejected appeal changes nothing");
  }
  resolution.state = static_cast<AppealState>(request.state());
  resolution.author = ToActor(call, request, violations);
  resolution.request = ToRequestKey(ToNamespace(request.namespace_(), violations), "ResolveAppeal",
                                    request.request_id(), request, Needed::kNo, violations);
  WINNOW_ASSIGN_OR_RETURN(resolution.appeal, ToKey(request.namespace_(), request.appeal_id(),
                                                   "appeal_id", "appeal", violations));
  WINNOW_ASSIGN_OR_RETURN(const Appeal appeal,
                          stores_.appeals.ResolveAppeal(call.deadline, resolution));
  if (appeal.state == AppealState::kGranted) WakeProjection();
  return rpc::Respond(&v1::ResolveAppealResponse::mutable_appeal, ToProto(appeal));
}

}  // namespace winnow::classification
