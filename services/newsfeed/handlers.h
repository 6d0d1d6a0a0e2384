#pragma once

#include "services/newsfeed/store.h"
#include "services/newsfeed/store_metrics.h"
#include "services/platform/clock.h"
#include "services/platform/grpc/call.h"
#include "services/platform/status.h"
#include "winnow/newsfeed/v1/newsfeed_service.pb.h"

namespace winnow::newsfeed {

// One method per RPC of NewsFeedService; its proto says what each does.
class Handlers {
 public:
  struct Options {
    Micros stale_after = std::chrono::minutes(10);
  };
  Handlers(Store& store, const Clock& clock, UpsertMetrics& metrics, Options options)
      : store_(store), clock_(clock), metrics_(metrics), options_(options) {}

  StatusOr<v1::ListArticlesResponse> ListArticles(const rpc::CallContext& call,
                                                  const v1::ListArticlesRequest& request);
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
  v1::FeedMeta MetaOf(const FeedPage& page) const;

  Store& store_;
  const Clock& clock_;
  UpsertMetrics& metrics_;
  const Options options_;
};

}  // namespace winnow::newsfeed
