#include <bit>

#include "services/classification/handlers.h"
#include "services/platform/grpc/rpc_status.h"
#include "services/platform/hash.h"
#include "services/platform/page_token.h"
#include "services/platform/text.h"

// Reading verdicts, and what people say of them.
namespace winnow::classification {
namespace {

constexpr uint8_t kListToken = 43;
constexpr uint8_t kConflictToken = 44;
constexpr int kMaxIds = 1000;

Status CheckCount(int count, const std::string& field) {
  if (count >= 1 && count <= kMaxIds) return OkStatus();
  return InvalidField(field, "has " + std::to_string(count) + " entries: send 1 to 1,000");
}

Status CheckIds(const std::vector<std::string>& ids) {
  Violations violations;
  for (size_t i = 0; i < ids.size(); ++i) {
    CheckNoNul(ids[i], "comment_ids[" + std::to_string(i) + "]", violations);
  }
  return violations.ToStatus();
}

Status Missing(const std::optional<Resolved>& resolved, const std::string& id) {
  if (!resolved) return NotFound("comment", id);
  if (resolved->number < 0) {
    return FailedPrecondition("the alias " + id + " is of several comments: use the full id");
  }
  return OkStatus();
}

StatusOr<ListQuery> ToQuery(const v1::ListClassificationsRequest& request) {
  Violations violations;
  ListQuery query;
  query.video = ToVideoKey(request.namespace_(), request.video_id(), violations);
  query.status = ToStatus(request.status(), "status", violations);
  query.order =
      request.order() == v1::CLASSIFICATION_ORDER_HIGHEST_SCORE ? Order::kHighest : Order::kNewest;
  if (request.order() > v1::CLASSIFICATION_ORDER_HIGHEST_SCORE || request.order() < 0) {
    violations.Add("order", "must be NEWEST or HIGHEST_SCORE");
  }
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(query.page_size, PageSize(request.page_size(), 20, 1000));
  return query;
}

uint64_t FilterOf(const ListQuery& query) {
  return Hash64(query.video.ns + "/" + query.video.video_id + "/" + NameOf(query.status) +
                (query.order == Order::kNewest ? "/n" : "/h"));
}

Status ReadToken(const std::string& text, ListQuery& query) {
  WINNOW_ASSIGN_OR_RETURN(auto token, PageTokenReader::Parse(text, kListToken, FilterOf(query)));
  WINNOW_ASSIGN_OR_RETURN(query.run, token.ReadNumber());
  WINNOW_ASSIGN_OR_RETURN(const int64_t time, token.ReadNumber());
  WINNOW_ASSIGN_OR_RETURN(const int64_t score, token.ReadNumber());
  WINNOW_ASSIGN_OR_RETURN(query.after_number, token.ReadNumber());
  query.after_time = Time(Micros(time));
  query.after_score = std::bit_cast<float>(static_cast<uint32_t>(score));
  return token.Finish();
}

std::string ToToken(const ListQuery& query, int64_t run, const Resolved& last) {
  return PageTokenWriter(kListToken, FilterOf(query))
      .Add(run)
      .Add(last.sort_time.time_since_epoch().count())
      .Add(int64_t{std::bit_cast<uint32_t>(last.score)})
      .Add(last.number)
      .Finish();
}

// What both overriding calls ask for.
template <class Request>
OverrideRequest ToOverride(const Request& request, const std::string& caller,
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
  override.actor = ToActor(request.actor(), caller, violations);
  CheckNote(request.note(), violations);
  override.note = request.note();
  return override;
}

}  // namespace

StatusOr<v1::GetClassificationResponse> Handlers::GetClassification(
    const rpc::CallContext& call, const v1::GetClassificationRequest& request) {
  Violations violations;
  const VideoKey key = ToVideoKey(request.namespace_(), request.video_id(), violations);
  CheckNoNul(request.comment_id(), "comment_id", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  const std::string ids[] = {request.comment_id()};
  WINNOW_ASSIGN_OR_RETURN(const auto found, store_.GetClassifications(call.deadline, key, ids));
  WINNOW_RETURN_IF_ERROR(Missing(found[0], request.comment_id()));
  v1::GetClassificationResponse response;
  *response.mutable_classification() = ToProto(*found[0]);
  return response;
}

StatusOr<v1::BatchGetClassificationsResponse> Handlers::BatchGetClassifications(
    const rpc::CallContext& call, const v1::BatchGetClassificationsRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const VideoKey key, ToVideoKey(request.namespace_(), request.video_id()));
  WINNOW_RETURN_IF_ERROR(CheckCount(request.comment_ids_size(), "comment_ids"));
  const std::vector<std::string> ids(request.comment_ids().begin(), request.comment_ids().end());
  WINNOW_RETURN_IF_ERROR(CheckIds(ids));
  WINNOW_ASSIGN_OR_RETURN(const auto found, store_.GetClassifications(call.deadline, key, ids));
  v1::BatchGetClassificationsResponse response;
  for (size_t i = 0; i < ids.size(); ++i) {
    v1::ClassificationResult& result = *response.add_results();
    if (const Status missing = Missing(found[i], ids[i]); !missing.ok()) {
      *result.mutable_error() = rpc::ToRpcStatus(missing, call.request_id);
    } else {
      *result.mutable_classification() = ToProto(*found[i]);
    }
  }
  return response;
}

StatusOr<v1::ListClassificationsResponse> Handlers::ListClassifications(
    const rpc::CallContext& call, const v1::ListClassificationsRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(ListQuery query, ToQuery(request));
  if (!request.page_token().empty()) {
    WINNOW_RETURN_IF_ERROR(ReadToken(request.page_token(), query));
  }
  WINNOW_ASSIGN_OR_RETURN(Store::Page page, store_.List(call.deadline, query));
  v1::ListClassificationsResponse response;
  if (page.items.size() > static_cast<size_t>(query.page_size)) {
    page.items.resize(static_cast<size_t>(query.page_size));
    response.set_next_page_token(ToToken(query, page.run, page.items.back()));
  }
  for (const Resolved& item : page.items) *response.add_classifications() = ToProto(item);
  return response;
}

StatusOr<v1::CountClassificationsResponse> Handlers::CountClassifications(
    const rpc::CallContext& call, const v1::CountClassificationsRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const VideoKey key, ToVideoKey(request.namespace_(), request.video_id()));
  WINNOW_ASSIGN_OR_RETURN(const Store::Counted counted, store_.Count(call.deadline, key));
  v1::CountClassificationsResponse response;
  *response.mutable_counts() = ToProto(counted.counts);
  response.set_run_id(counted.run);
  return response;
}

StatusOr<OverrideResult> Handlers::Override(const rpc::CallContext& call,
                                            const OverrideRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const OverrideResult result, store_.Override(call.deadline, request));
  if (!request.dry_run) {
    metrics_.CountOverrides(result.changed, result.same);
    options_.video_changed(request.video);
  }
  return result;
}

StatusOr<v1::OverrideClassificationResponse> Handlers::OverrideClassification(
    const rpc::CallContext& call, const v1::OverrideClassificationRequest& request) {
  Violations violations;
  OverrideRequest override = ToOverride(request, call.caller, violations);
  CheckNoNul(request.comment_id(), "comment_id", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  override.comment_ids = {request.comment_id()};
  WINNOW_RETURN_IF_ERROR(Override(call, override).status());
  WINNOW_ASSIGN_OR_RETURN(const auto found, store_.GetClassifications(call.deadline, override.video,
                                                                      override.comment_ids));
  WINNOW_RETURN_IF_ERROR(Missing(found[0], request.comment_id()));
  v1::OverrideClassificationResponse response;
  *response.mutable_classification() = ToProto(*found[0]);
  return response;
}

StatusOr<v1::BulkOverrideClassificationsResponse> Handlers::BulkOverrideClassifications(
    const rpc::CallContext& call, const v1::BulkOverrideClassificationsRequest& request) {
  WINNOW_RETURN_IF_ERROR(CheckCount(request.comment_ids_size(), "comment_ids"));
  Violations violations;
  OverrideRequest override = ToOverride(request, call.caller, violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  override.comment_ids.assign(request.comment_ids().begin(), request.comment_ids().end());
  WINNOW_RETURN_IF_ERROR(CheckIds(override.comment_ids));
  override.bulk = true;
  override.dry_run = request.dry_run();
  override.action = "bulk_override";
  WINNOW_ASSIGN_OR_RETURN(const OverrideResult result, Override(call, override));
  v1::BulkOverrideClassificationsResponse response;
  response.set_changed_count(result.changed);
  response.set_same_count(result.same);
  response.set_bulk_id(result.bulk);
  return response;
}

StatusOr<v1::UndoOverrideResponse> Handlers::UndoOverride(const rpc::CallContext& call,
                                                          const v1::UndoOverrideRequest& request) {
  Violations violations;
  const VideoKey key = ToVideoKey(request.namespace_(), request.video_id(), violations);
  if (request.comment_id().empty() == (request.bulk_id() == 0) || request.bulk_id() < 0) {
    violations.Add("comment_id", "set it or bulk_id, one of the two");
  }
  CheckNoNul(request.comment_id(), "comment_id", violations);
  const std::string actor = ToActor(request.actor(), call.caller, violations);
  CheckNote(request.note(), violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const int64_t undone,
                          store_.UndoOverrides(call.deadline, key, request.comment_id(),
                                               request.bulk_id(), actor, request.note()));
  if (undone > 0) options_.video_changed(key);
  v1::UndoOverrideResponse response;
  response.set_undone_count(undone);
  return response;
}

StatusOr<v1::ListOverrideConflictsResponse> Handlers::ListOverrideConflicts(
    const rpc::CallContext& call, const v1::ListOverrideConflictsRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const VideoKey key, ToVideoKey(request.namespace_(), request.video_id()));
  WINNOW_ASSIGN_OR_RETURN(const int size, PageSize(request.page_size(), 100, 1000));
  const uint64_t filter = Hash64(key.ns + "/" + key.video_id);
  std::string after;
  if (!request.page_token().empty()) {
    WINNOW_ASSIGN_OR_RETURN(auto token,
                            PageTokenReader::Parse(request.page_token(), kConflictToken, filter));
    WINNOW_ASSIGN_OR_RETURN(after, token.ReadText());
    WINNOW_RETURN_IF_ERROR(token.Finish());
  }
  WINNOW_ASSIGN_OR_RETURN(std::vector<Resolved> conflicts,
                          store_.ListConflicts(call.deadline, key, after, size + 1));
  v1::ListOverrideConflictsResponse response;
  if (conflicts.size() > static_cast<size_t>(size)) {
    conflicts.resize(static_cast<size_t>(size));
    response.set_next_page_token(
        PageTokenWriter(kConflictToken, filter).Add(conflicts.back().comment_id).Finish());
  }
  for (const Resolved& conflict : conflicts) *response.add_conflicts() = ToProto(conflict);
  return response;
}

StatusOr<v1::CreateAppealResponse> Handlers::CreateAppeal(const rpc::CallContext& call,
                                                          const v1::CreateAppealRequest& request) {
  Violations violations;
  const VideoKey key = ToVideoKey(request.namespace_(), request.video_id(), violations);
  const std::string actor = ToActor(request.actor(), call.caller, violations);
  CheckNoNul(request.comment_id(), "comment_id", violations);
  CheckNoNul(request.request_id(), "request_id", violations);
  if (request.note().empty()) violations.Add("note", "is required: say why");
  CheckNote(request.note(), violations);
  if (request.request_id().empty() || request.request_id().size() > 64) {
    violations.Add("request_id", "is required, 1 to 64 bytes");
  }
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const Appeal appeal,
                          store_.CreateAppeal(call.deadline, key, request.comment_id(), actor,
                                              request.note(), request.request_id()));
  v1::CreateAppealResponse response;
  *response.mutable_appeal() = ToProto(appeal);
  return response;
}

StatusOr<v1::ResolveAppealResponse> Handlers::ResolveAppeal(
    const rpc::CallContext& call, const v1::ResolveAppealRequest& request) {
  Violations violations;
  Store::Resolution resolution;
  resolution.appeal = request.appeal_id();
  resolution.grant = request.grant();
  if (request.grant()) resolution.status = ToStatus(request.status(), "status", violations);
  resolution.actor = ToActor(request.actor(), call.caller, violations);
  CheckNote(request.note(), violations);
  resolution.note = request.note();
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const Appeal appeal, store_.ResolveAppeal(call.deadline, resolution));
  v1::ResolveAppealResponse response;
  *response.mutable_appeal() = ToProto(appeal);
  return response;
}

}  // namespace winnow::classification
