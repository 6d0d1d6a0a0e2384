#include "services/newsfeed/api/convert.h"
#include "services/newsfeed/api/handlers.h"

// How a feed is served, for operators.
namespace winnow::newsfeed {

StatusOr<v1::RefreshFeedResponse> Handlers::RefreshFeed(const rpc::CallContext& call,
                                                        const v1::RefreshFeedRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const FeedQuery query, FromProto(request));
  WINNOW_RETURN_IF_ERROR(parts_.memory_worker.Refill(call.deadline, query.ns, query.category));
  v1::RefreshFeedResponse response;
  if (const auto held = parts_.memory.Describe(FeedName(query.ns, query.category))) {
    response.set_cached_count(static_cast<int32_t>(held->cached));
    response.set_position(held->position);
  }
  if (parts_.projector != nullptr && query.ns == kProjectedNamespace) {
    parts_.projector->Renew(query.category);
    response.set_projection_requested(true);
  }
  return response;
}

StatusOr<v1::GetFeedStatusResponse> Handlers::GetFeedStatus(
    const rpc::CallContext& call, const v1::GetFeedStatusRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const FeedQuery query, FromProto(request));
  const std::string feed = FeedName(query.ns, query.category);
  FeedStatus status;
  status.memory = parts_.memory.Describe(feed);
  status.pages = parts_.pages.counts();
  status.has_redis = parts_.projections != nullptr;
  status.redis_away = parts_.projector != nullptr && parts_.projector->away();
  StatusOr<StoreStatus> stored = parts_.status.Read(call.deadline, query.ns, query.category);
  if (stored.status().code() == StatusCode::kNotFound) return stored.status();
  if (stored.ok()) status.store = *std::move(stored);
  if (parts_.projections != nullptr && query.ns == kProjectedNamespace) {
    auto projected = parts_.projections->Find(call.deadline, feed);
    if (projected.ok()) status.projection = *std::move(projected);
  }
  return ToProto(status);
}

}  // namespace winnow::newsfeed
