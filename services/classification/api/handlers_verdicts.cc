#include <bit>

#include "services/classification/api/handlers.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/page_token.h"
#include "services/platform/base/text.h"
#include "services/platform/grpc/errors/rpc_status.h"

// Reading verdicts.
namespace winnow::classification {
namespace {

constexpr uint8_t kListToken = 43;
constexpr uint8_t kConflictToken = 44;

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
  const bool none = request.status() == v1::COMMENT_STATUS_UNCLASSIFIED;
  if (!none) query.status = ToStatus(request.status(), "status", violations);
  query.order =
      request.order() == v1::CLASSIFICATION_ORDER_HIGHEST_SCORE ? Order::kHighest : Order::kNewest;
  if (request.order() > v1::CLASSIFICATION_ORDER_HIGHEST_SCORE || request.order() < 0) {
    violations.Add("order", "must be NEWEST or HIGHEST_SCORE");
  }
  if (none && query.order == Order::kHighest) {
    violations.Add("order", "must be NEWEST: what is unclassified has no score");
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
  int64_t time = 0, score = 0;
  WINNOW_RETURN_IF_ERROR(
      ReadPageToken(text, kListToken, FilterOf(query), query.run, time, score, query.after_number));
  query.after_time = Time(Micros(time));
  query.after_score = std::bit_cast<float>(static_cast<uint32_t>(score));
  return OkStatus();
}

std::string ToToken(const ListQuery& query, int64_t run, const Resolved& last) {
  return MakePageToken(kListToken, FilterOf(query), run, last.sort_time.time_since_epoch().count(),
                       int64_t{std::bit_cast<uint32_t>(last.score)}, last.number);
}

}  // namespace

StatusOr<v1::GetClassificationResponse> Handlers::GetClassification(
    const rpc::CallContext& call, const v1::GetClassificationRequest& request) {
  Violations violations;
  const VideoKey key = ToVideoKey(request.namespace_(), request.video_id(), violations);
  CheckNoNul(request.comment_id(), "comment_id", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  const std::string ids[] = {request.comment_id()};
  WINNOW_ASSIGN_OR_RETURN(const auto found,
                          stores_.verdicts.GetClassifications(call.deadline, key, ids));
  WINNOW_RETURN_IF_ERROR(Missing(found[0], request.comment_id()));
  return rpc::Respond(&v1::GetClassificationResponse::mutable_classification, ToProto(*found[0]));
}

StatusOr<v1::BatchGetClassificationsResponse> Handlers::BatchGetClassifications(
    const rpc::CallContext& call, const v1::BatchGetClassificationsRequest& request) {
  Violations violations;
  const VideoKey key = ToVideoKey(request.namespace_(), request.video_id(), violations);
  const std::vector<std::string> ids(request.comment_ids().begin(), request.comment_ids().end());
  CheckCommentIds(ids, violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const auto found,
                          stores_.verdicts.GetClassifications(call.deadline, key, ids));
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
  const bool none = query.status == CommentStatus::kNone;
  WINNOW_ASSIGN_OR_RETURN(VerdictStore::Page page,
                          none ? stores_.verdicts.ListUnclassified(call.deadline, query)
                               : stores_.verdicts.List(call.deadline, query));
  v1::ListClassificationsResponse response;
  if (TrimPage(page.items, query.page_size)) {
    response.set_next_page_token(ToToken(query, page.run, page.items.back()));
  } else if (page.stopped) {
    response.set_next_page_token(ToToken(query, page.run, *page.stopped));
  }
  for (const Resolved& item : page.items) *response.add_classifications() = ToProto(item);
  return response;
}

StatusOr<v1::CountClassificationsResponse> Handlers::CountClassifications(
    const rpc::CallContext& call, const v1::CountClassificationsRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const VideoKey key, ToVideoKey(request.namespace_(), request.video_id()));
  WINNOW_ASSIGN_OR_RETURN(const VerdictStore::Counted counted,
                          stores_.verdicts.Count(call.deadline, key));
  v1::CountClassificationsResponse response;
  *response.mutable_counts() = ToProto(counted.counts);
  response.set_run_id(ToId(counted.run));
  return response;
}

StatusOr<v1::ListOverrideConflictsResponse> Handlers::ListOverrideConflicts(
    const rpc::CallContext& call, const v1::ListOverrideConflictsRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const VideoKey key, ToVideoKey(request.namespace_(), request.video_id()));
  WINNOW_ASSIGN_OR_RETURN(const int size, PageSize(request.page_size(), 100, 1000));
  const uint64_t filter = Hash64(key.ns + "/" + key.video_id);
  std::string after;
  WINNOW_RETURN_IF_ERROR(ReadPageToken(request.page_token(), kConflictToken, filter, after));
  WINNOW_ASSIGN_OR_RETURN(std::vector<Resolved> conflicts,
                          stores_.verdicts.ListConflicts(call.deadline, key, after, size + 1));
  v1::ListOverrideConflictsResponse response;
  if (TrimPage(conflicts, size))
    response.set_next_page_token(
        MakePageToken(kConflictToken, filter, conflicts.back().comment_id));
  for (const Resolved& conflict : conflicts) *response.add_conflicts() = ToProto(conflict);
  return response;
}

}  // namespace winnow::classification
