#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/newsfeed/articles/article_store.h"
#include "services/newsfeed/articles/category_store.h"
#include "services/newsfeed/articles/commit_position.h"
#include "services/newsfeed/feed/memory_worker.h"
#include "services/newsfeed/labels/category_rules.h"
#include "services/newsfeed/write/upsert_metrics.h"
#include "services/newsfeed/write/write_store.h"
#include "services/platform/base/status.h"
#include "services/platform/grpc/call/call_context.h"
#include "services/platform/grpc/call/handler.h"
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

// The RPCs of NewsFeedService on articles; its proto says what each does.
class ArticleHandlers {
 public:
  // What it works with; all outlive it.
  struct Parts {
    ArticleStore& articles;
    CategoryStore& categories;
    WriteStore& writes;
    MemoryWorker& memory_worker;
    const CommitPosition& last_commit;
    UpsertMetrics& metrics;
    const CategoryRules& rules;
  };
  explicit ArticleHandlers(const Parts& parts) : parts_(parts) {}

  WINNOW_HANDLER(GetArticle);
  WINNOW_HANDLER(BatchUpsertArticles);
  StatusOr<std::vector<v1::IngestArticlesResponse>> IngestArticles(
      const rpc::CallContext& call, std::span<const v1::IngestArticlesRequest> requests);
  WINNOW_HANDLER(BatchGetArticles);
  WINNOW_HANDLER(LookupArticle);
  WINNOW_HANDLER(DeleteArticle);
  WINNOW_HANDLER(UndeleteArticle);

 private:
  StatusOr<std::vector<v1::UpsertArticleResult>> Put(const rpc::CallContext& call,
                                                     ArticleBatch batch);
  Status Categorize(const rpc::CallContext& call, ArticleBatch& batch);

  const Parts parts_;
};

}  // namespace winnow::newsfeed
