#include "services/newsfeed/api/convert.h"
#include "services/newsfeed/api/handlers.h"

// Searches, and what was counted.
namespace winnow::newsfeed {

StatusOr<v1::SearchArticlesResponse> Handlers::SearchArticles(
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

StatusOr<v1::GetFeedStatsResponse> Handlers::GetFeedStats(const rpc::CallContext& call,
                                                          const v1::GetFeedStatsRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const StatsQuery query, FromProto(request, parts_.clock.Now()));
  WINNOW_ASSIGN_OR_RETURN(const std::vector<FeedCounter> counters,
                          parts_.stats.Read(call.deadline, query));
  v1::GetFeedStatsResponse response;
  for (const FeedCounter& counter : counters) *response.add_counters() = ToProto(counter);
  return response;
}

}  // namespace winnow::newsfeed
