#include <utility>

#include "services/newsfeed/convert.h"
#include "services/newsfeed/handlers.h"

// ListArticles: memory down to its floor, the store below it, in one page.
namespace winnow::newsfeed {
namespace {

bool IsAway(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded;
}

// A feed without articles may be that of a category that was deleted: the store knows.
bool MayBeGone(const MemoryView& view, const FeedQuery& query) {
  return view.cached == 0 && !IsBuiltInFeed(query.category);
}

}  // namespace

std::optional<std::string> Handlers::ListFromMemory(const rpc::CallContext&,
                                                    const v1::ListArticlesRequest& request) {
  if (parts_.memory.empty()) return std::nullopt;
  const StatusOr<FeedQuery> query = FromProto(request);
  if (!query.ok()) return std::nullopt;
  std::optional<MemoryView> view = parts_.memory.Look(*query);
  if (!view || NeedsStore(*view, *query) || MayBeGone(*view, *query)) return std::nullopt;
  return Finish(*query, FromMemory(*std::move(view), *query));
}

StatusOr<std::string> Handlers::ListArticles(const rpc::CallContext& call,
                                             const v1::ListArticlesRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const FeedQuery query, FromProto(request));
  WINNOW_ASSIGN_OR_RETURN(FeedAnswer answer, Read(call, query));
  if (parts_.memory.WantsFill(FeedName(query.ns, query.category))) {
    parts_.keeper.RequestFill(query.ns, query.category);
  }
  return Finish(query, std::move(answer));
}

StatusOr<FeedAnswer> Handlers::Read(const rpc::CallContext& call, const FeedQuery& query) {
  std::optional<MemoryView> view = parts_.memory.Look(query);
  if (!view || MayBeGone(*view, query)) return ReadStore(call, query);
  if (!NeedsStore(*view, query)) return FromMemory(*std::move(view), query);
  StatusOr<FeedPage> rest = parts_.store.ListArticles(call.deadline, BelowFloor(*view, query));
  if (!rest.ok()) {
    if (!IsAway(rest.status()) || view->page.entries.empty()) return rest.status();
    FeedAnswer answer = FromMemory(*std::move(view), query);
    answer.cut = true;
    return answer;
  }
  if (rest->until != view->until || rest->epoch != view->epoch) return ReadStore(call, query);
  return Spliced(*std::move(view), Encode(*std::move(rest)), query);
}

StatusOr<FeedAnswer> Handlers::ReadStore(const rpc::CallContext& call, const FeedQuery& query) {
  WINNOW_ASSIGN_OR_RETURN(FeedPage page, parts_.store.ListArticles(call.deadline, query));
  return FromStore(Encode(std::move(page)));
}

std::string Handlers::Finish(const FeedQuery& query, FeedAnswer answer) const {
  parts_.pages.Count(answer.from_memory, answer.articles.size(), answer.of_memory);
  answer.behind = answer.of_memory && !parts_.keeper.healthy();
  parts_.pages.CountDegraded(answer.behind, answer.cut);
  const std::optional<Time>& created = answer.freshness.created_at;
  const bool stale =
      answer.IsDegraded() || !created || parts_.clock.Now() - *created >= options_.stale_after;
  return EncodeResponse(query, answer, stale);
}

}  // namespace winnow::newsfeed
