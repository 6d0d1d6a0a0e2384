#include <algorithm>
#include <chrono>

#include "services/newsfeed/api/convert.h"
#include "services/newsfeed/api/handlers.h"

// What came after a moment: counted, and watched.
namespace winnow::newsfeed {
namespace {

// A watch has no deadline; catching up has.
constexpr std::chrono::seconds kCatchUpTime(30);

}  // namespace

StatusOr<v1::CountNewArticlesResponse> Handlers::CountNewArticles(
    const rpc::CallContext& call, const v1::CountNewArticlesRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const FeedQuery query, FromProto(request));
  WINNOW_ASSIGN_OR_RETURN(const NewerCount newer, parts_.feeds.CountNewer(call.deadline, query));
  v1::CountNewArticlesResponse response;
  response.set_article_count(newer.count);
  response.set_exact(newer.exact);
  return response;
}

Status Handlers::WatchArticles(const rpc::CallContext& call,
                               const v1::WatchArticlesRequest& request,
                               const rpc::Subscriber<v1::WatchArticlesResponse>& subscriber) {
  WINNOW_ASSIGN_OR_RETURN(const FeedQuery query, FromProto(request));
  const Deadline limit = std::chrono::steady_clock::now() + kCatchUpTime;
  return parts_.watches.Watch(parts_.memory_worker, std::min(call.deadline, limit), query,
                              subscriber);
}

}  // namespace winnow::newsfeed
