#pragma once

#include <optional>
#include <string>

#include "services/newsfeed/feed_answer.h"
#include "services/newsfeed/feed_memory.h"
#include "services/newsfeed/store.h"
#include "services/newsfeed/store_metrics.h"
#include "services/newsfeed/worker_memory.h"
#include "services/platform/clock.h"
#include "services/platform/grpc/call.h"
#include "services/platform/grpc/watch.h"
#include "services/platform/status.h"
#include "winnow/newsfeed/v1/newsfeed_service.pb.h"

namespace winnow::newsfeed {

// One method per RPC of NewsFeedService; its proto says what each does.
class Handlers {
 public:
  struct Options {
    Micros stale_after = std::chrono::minutes(10);
  };
  Handlers(Store& store, FeedMemory& memory, MemoryKeeper& keeper, const Clock& clock,
           UpsertMetrics& metrics, Options options)
      : store_(store),
        memory_(memory),
        keeper_(keeper),
        clock_(clock),
        metrics_(metrics),
        options_(options) {}

  // The hot page: of memory alone, without waiting for anything. Nothing when that cannot be, or
  // the request is bad; then ListArticles answers.
  std::optional<std::string> ListFromMemory(const rpc::CallContext& call,
                                            const v1::ListArticlesRequest& request);
  // ListArticlesResponse on the wire.
  StatusOr<std::string> ListArticles(const rpc::CallContext& call,
                                     const v1::ListArticlesRequest& request);
  StatusOr<v1::CountNewArticlesResponse> CountNewArticles(
      const rpc::CallContext& call, const v1::CountNewArticlesRequest& request);
  Status WatchArticles(const rpc::CallContext& call, const v1::WatchArticlesRequest& request,
                       const rpc::Subscriber<v1::WatchArticlesResponse>& subscriber);
  StatusOr<v1::GetArticleResponse> GetArticle(const rpc::CallContext& call,
                                              const v1::GetArticleRequest& request);
  StatusOr<v1::BatchUpsertArticlesResponse> BatchUpsertArticles(
      const rpc::CallContext& call, const v1::BatchUpsertArticlesRequest& request);
  StatusOr<v1::DeleteArticleResponse> DeleteArticle(const rpc::CallContext& call,
                                                    const v1::DeleteArticleRequest& request);
  StatusOr<v1::CreateCategoryResponse> CreateCategory(const rpc::CallContext& call,
                                                      const v1::CreateCategoryRequest& request);
  StatusOr<v1::ListCategoriesResponse> ListCategories(const rpc::CallContext& call,
                                                      const v1::ListCategoriesRequest& request);

 private:
  void AwaitMemory(const rpc::CallContext& call);
  StatusOr<FeedAnswer> Read(const rpc::CallContext& call, const FeedQuery& query);
  StatusOr<FeedAnswer> ReadStore(const rpc::CallContext& call, const FeedQuery& query);
  std::string Finish(const FeedQuery& query, FeedAnswer answer) const;

  Store& store_;
  FeedMemory& memory_;
  MemoryKeeper& keeper_;
  const Clock& clock_;
  UpsertMetrics& metrics_;
  const Options options_;
};

}  // namespace winnow::newsfeed
