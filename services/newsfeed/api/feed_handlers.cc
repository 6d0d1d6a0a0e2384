#include "services/newsfeed/api/feed_handlers.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "services/newsfeed/api/convert.h"

// Reading feeds: pages (from memory down to its floor, from the store below it), what is newer,
// watches, searches, statistics, and how a feed is served.
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

// Of a request for the first page of a whole feed; empty for others.
std::string HotKeyOf(const v1::ListArticlesRequest& request) {
  if (!request.page_token().empty() || request.has_filter()) return {};
  std::string key = request.namespace_();
  key += '/';  // which no namespace has, nor a category the space
  key += request.category_id();
  key += ' ';
  // As it will be: sizes that mean the same page share one.
  if (request.page_size() < 0) return {};
  key += std::to_string(request.page_size() == 0 ? kDefaultPageSize
                                                 : std::min(request.page_size(), kMaxPageSize));
  return key;
}

// A watch has no deadline; catching up has.
constexpr std::chrono::seconds kCatchUpTime(30);

}  // namespace

bool FeedHandlers::IsStale(const std::optional<Time>& created_at) const {
  return !created_at || parts_.clock.Now() - *created_at >= options_.stale_after;
}

HotPages::Bytes FeedHandlers::FindHot(const std::string& key, uint64_t version) const {
  if (key.empty()) return nullptr;
  const auto page = hot_pages_.Find(key, version);
  if (page == nullptr || page->stale != IsStale(page->created_at) ||
      !parts_.memory_worker.healthy()) {
    return nullptr;
  }
  parts_.memory.Touch(page->feed);
  parts_.pages.Count(page->articles, page->articles, /*of_memory=*/true);
  return page->bytes;
}

void FeedHandlers::KeepHot(const std::string& key, uint64_t version, const FeedQuery& query,
                           const FeedAnswer& answer, const HotPages::Bytes& bytes) {
  if (key.empty() || answer.IsDegraded()) return;
  hot_pages_.Keep(key, {version, answer.stale, answer.freshness.created_at, answer.articles.size(),
                        FeedName(query.ns, query.category), bytes});
}

StatusOr<std::shared_ptr<const std::string>> FeedHandlers::ListFromMemory(
    const v1::ListArticlesRequest& request, FeedQuery& query) {
  const uint64_t version = parts_.memory.version();  // before the look: a page is never too new
  const std::string key = HotKeyOf(request);
  if (HotPages::Bytes bytes = FindHot(key, version)) return bytes;
  WINNOW_ASSIGN_OR_RETURN(query, FromProto(request));
  std::optional<MemoryView> view = parts_.memory.Look(query);
  if (!view || NeedsStore(*view, query) || MayBeGone(*view, query)) return HotPages::Bytes();
  FeedAnswer answer = FromMemory(*std::move(view), query);
  auto bytes = std::make_shared<const std::string>(Finish(query, answer));
  KeepHot(key, version, query, answer, bytes);
  return bytes;
}

StatusOr<std::string> FeedHandlers::ListArticles(const rpc::CallContext& call,
                                                 const FeedQuery& query) {
  WINNOW_ASSIGN_OR_RETURN(FeedAnswer answer, Read(call, query));
  if (parts_.memory.WantsFill(FeedName(query.ns, query.category))) {
    parts_.memory_worker.RequestFill(query.ns, query.category);
  }
  return Finish(query, answer);
}

StatusOr<FeedAnswer> FeedHandlers::Read(const rpc::CallContext& call, const FeedQuery& query) {
  std::optional<MemoryView> view = parts_.memory.Look(query);
  if (!view || MayBeGone(*view, query)) return ReadStore(call, query);
  if (!NeedsStore(*view, query)) return FromMemory(*std::move(view), query);
  StatusOr<FeedPage> rest = parts_.feeds.ListArticles(call.deadline, BelowFloor(*view, query));
  if (!rest.ok()) {
    if (!IsAway(rest.status()) || view->page.entries.empty()) return rest.status();
    FeedAnswer answer = FromMemory(*std::move(view), query);
    answer.cut = true;
    return answer;
  }
  if (rest->until != view->until || rest->epoch != view->epoch) return ReadStore(call, query);
  return Spliced(*std::move(view), Encode(*std::move(rest)), query);
}

StatusOr<FeedAnswer> FeedHandlers::ReadStore(const rpc::CallContext& call, const FeedQuery& query) {
  WINNOW_ASSIGN_OR_RETURN(FeedPage page, parts_.feeds.ListArticles(call.deadline, query));
  return FromStore(Encode(std::move(page)));
}

std::string FeedHandlers::Finish(const FeedQuery& query, FeedAnswer& answer) const {
  parts_.pages.Count(answer.from_memory, answer.articles.size(), answer.of_memory);
  answer.behind = answer.of_memory && !parts_.memory_worker.healthy();
  parts_.pages.CountDegraded(answer.behind, answer.cut);
  answer.stale = answer.IsDegraded() || IsStale(answer.freshness.created_at);
  return EncodeResponse(query, answer);
}

StatusOr<v1::CountNewArticlesResponse> FeedHandlers::CountNewArticles(
    const rpc::CallContext& call, const v1::CountNewArticlesRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const FeedQuery query, FromProto(request));
  WINNOW_ASSIGN_OR_RETURN(const NewerCount newer, parts_.feeds.CountNewer(call.deadline, query));
  v1::CountNewArticlesResponse response;
  response.set_article_count(newer.count);
  response.set_exact(newer.exact);
  return response;
}

Status FeedHandlers::WatchArticles(const rpc::CallContext& call,
                                   const v1::WatchArticlesRequest& request,
                                   const rpc::Subscriber<v1::WatchArticlesResponse>& subscriber) {
  WINNOW_ASSIGN_OR_RETURN(const FeedQuery query, FromProto(request));
  const Deadline limit = std::chrono::steady_clock::now() + kCatchUpTime;
  return parts_.watches.Watch(parts_.memory_worker, std::min(call.deadline, limit), query,
                              subscriber);
}

StatusOr<v1::SearchArticlesResponse> FeedHandlers::SearchArticles(
    const rpc::CallContext& call, const v1::SearchArticlesRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const SearchQuery query, FromProto(request));
  WINNOW_ASSIGN_OR_RETURN(SearchPage page, parts_.search.Search(call.deadline, query));
  v1::SearchArticlesResponse response;
  for (StoredArticle& article : page.articles) {
    *response.add_articles() = ToProto(std::move(article));
  }
  if (page.next) response.set_next_page_token(NextToken(query, *page.next));
  return response;
}

StatusOr<v1::GetFeedStatsResponse> FeedHandlers::GetFeedStats(
    const rpc::CallContext& call, const v1::GetFeedStatsRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const StatsQuery query, FromProto(request, parts_.clock.Now()));
  WINNOW_ASSIGN_OR_RETURN(const std::vector<FeedCounter> counters,
                          parts_.stats.Read(call.deadline, query));
  v1::GetFeedStatsResponse response;
  for (const FeedCounter& counter : counters) *response.add_counters() = ToProto(counter);
  return response;
}

StatusOr<v1::RefreshFeedResponse> FeedHandlers::RefreshFeed(const rpc::CallContext& call,
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

StatusOr<v1::GetFeedStatusResponse> FeedHandlers::GetFeedStatus(
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
