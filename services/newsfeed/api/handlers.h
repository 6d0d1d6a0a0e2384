#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/newsfeed/api/status_store.h"
#include "services/newsfeed/api/watch_hub.h"
#include "services/newsfeed/articles/article_store.h"
#include "services/newsfeed/articles/category_store.h"
#include "services/newsfeed/articles/commit_position.h"
#include "services/newsfeed/feed/feed_answer.h"
#include "services/newsfeed/feed/feed_memory.h"
#include "services/newsfeed/feed/feed_store.h"
#include "services/newsfeed/feed/hot_pages.h"
#include "services/newsfeed/feed/memory_worker.h"
#include "services/newsfeed/feed/page_metrics.h"
#include "services/newsfeed/labels/category_rules.h"
#include "services/newsfeed/projection/projection_store.h"
#include "services/newsfeed/projection/projection_worker.h"
#include "services/newsfeed/search/search_store.h"
#include "services/newsfeed/tree/tree_store.h"
#include "services/newsfeed/tree/tree_worker.h"
#include "services/newsfeed/write/stats_store.h"
#include "services/newsfeed/write/upsert_metrics.h"
#include "services/newsfeed/write/write_store.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/grpc/call/call_context.h"
#include "services/platform/grpc/call/subscriber.h"
#include "winnow/newsfeed/v1/newsfeed_service.pb.h"

namespace winnow::newsfeed {

// The valid articles of a request, and what is wrong with the others.
struct ArticleBatch {
  std::vector<Article> articles;
  std::vector<std::string> prefixes;  // of articles
  std::vector<int64_t> revisions;     // of articles: those that they may change, 0 for any
  std::vector<bool> categorize;       // of articles: whether the rules are asked
  std::vector<Status> refusals;       // one per article of the request; OK for the valid
};

// One method per RPC of NewsFeedService; its proto says what each does.
class Handlers {
 public:
  struct Options {
    Micros stale_after = std::chrono::minutes(10);
  };
  // What it works with; all outlive it.
  struct Parts {
    ArticleStore& articles;
    CategoryStore& categories;
    FeedStore& feeds;
    StatusStore& status;
    WriteStore& writes;
    TreeStore& tree;
    TreeWorker& tree_worker;
    SearchStore& search;
    StatsStore& stats;
    FeedMemory& memory;
    MemoryWorker& memory_worker;
    WatchHub& watches;
    const CommitPosition& last_commit;
    const Clock& clock;
    UpsertMetrics& metrics;
    PageMetrics& pages;
    const CategoryRules& rules;
    ProjectionStore* projections = nullptr;  // with a Redis only
    ProjectionWorker* projector = nullptr;
  };
  Handlers(const Parts& parts, Options options) : parts_(parts), options_(options) {}

  // A page from memory alone, without waiting for anything: ListArticlesResponse, serialized. Null
  // if memory cannot answer; `query` is then what was asked, for ListArticles. INVALID_ARGUMENT.
  StatusOr<std::shared_ptr<const std::string>> ListFromMemory(
      const v1::ListArticlesRequest& request, FeedQuery& query);
  // ListArticlesResponse, serialized.
  StatusOr<std::string> ListArticles(const rpc::CallContext& call, const FeedQuery& query);
  StatusOr<v1::CountNewArticlesResponse> CountNewArticles(
      const rpc::CallContext& call, const v1::CountNewArticlesRequest& request);
  Status WatchArticles(const rpc::CallContext& call, const v1::WatchArticlesRequest& request,
                       const rpc::Subscriber<v1::WatchArticlesResponse>& subscriber);
  StatusOr<v1::SearchArticlesResponse> SearchArticles(const rpc::CallContext& call,
                                                      const v1::SearchArticlesRequest& request);
  StatusOr<v1::GetFeedStatsResponse> GetFeedStats(const rpc::CallContext& call,
                                                  const v1::GetFeedStatsRequest& request);
  StatusOr<v1::RefreshFeedResponse> RefreshFeed(const rpc::CallContext& call,
                                                const v1::RefreshFeedRequest& request);
  StatusOr<v1::GetFeedStatusResponse> GetFeedStatus(const rpc::CallContext& call,
                                                    const v1::GetFeedStatusRequest& request);
  StatusOr<v1::GetArticleResponse> GetArticle(const rpc::CallContext& call,
                                              const v1::GetArticleRequest& request);
  StatusOr<v1::BatchUpsertArticlesResponse> BatchUpsertArticles(
      const rpc::CallContext& call, const v1::BatchUpsertArticlesRequest& request);
  StatusOr<std::vector<v1::IngestArticlesResponse>> IngestArticles(
      const rpc::CallContext& call, std::span<const v1::IngestArticlesRequest> requests);
  StatusOr<v1::BatchGetArticlesResponse> BatchGetArticles(
      const rpc::CallContext& call, const v1::BatchGetArticlesRequest& request);
  StatusOr<v1::LookupArticleResponse> LookupArticle(const rpc::CallContext& call,
                                                    const v1::LookupArticleRequest& request);
  StatusOr<v1::DeleteArticleResponse> DeleteArticle(const rpc::CallContext& call,
                                                    const v1::DeleteArticleRequest& request);
  StatusOr<v1::UndeleteArticleResponse> UndeleteArticle(const rpc::CallContext& call,
                                                        const v1::UndeleteArticleRequest& request);
  StatusOr<v1::CreateCategoryResponse> CreateCategory(const rpc::CallContext& call,
                                                      const v1::CreateCategoryRequest& request);
  StatusOr<v1::UpdateCategoryResponse> UpdateCategory(const rpc::CallContext& call,
                                                      const v1::UpdateCategoryRequest& request);
  StatusOr<v1::MoveCategoryResponse> MoveCategory(const rpc::CallContext& call,
                                                  const v1::MoveCategoryRequest& request);
  StatusOr<v1::DeleteCategoryResponse> DeleteCategory(const rpc::CallContext& call,
                                                      const v1::DeleteCategoryRequest& request);
  StatusOr<v1::ListCategoriesResponse> ListCategories(const rpc::CallContext& call,
                                                      const v1::ListCategoriesRequest& request);

 private:
  void AwaitMemory(const rpc::CallContext& call);
  StatusOr<std::vector<v1::UpsertArticleResult>> Put(const rpc::CallContext& call,
                                                     ArticleBatch batch);
  Status Categorize(const rpc::CallContext& call, ArticleBatch& batch);
  StatusOr<TreeProgress> Follow(const rpc::CallContext& call, const Category& category);
  StatusOr<FeedAnswer> Read(const rpc::CallContext& call, const FeedQuery& query);
  StatusOr<FeedAnswer> ReadStore(const rpc::CallContext& call, const FeedQuery& query);
  // On the wire; notes in the answer what is wrong with it.
  std::string Finish(const FeedQuery& query, FeedAnswer& answer) const;
  bool IsStale(const std::optional<Time>& created_at) const;
  HotPages::Bytes FindHot(const std::string& key, uint64_t version) const;
  void KeepHot(const std::string& key, uint64_t version, const FeedQuery& query,
               const FeedAnswer& answer, const HotPages::Bytes& bytes);

  const Parts parts_;
  const Options options_;
  HotPages hot_pages_;
};

}  // namespace winnow::newsfeed
