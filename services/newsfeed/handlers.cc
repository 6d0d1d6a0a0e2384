#include "services/newsfeed/handlers.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "services/newsfeed/convert.h"
#include "services/platform/grpc/rpc_status.h"
#include "services/platform/timestamp.h"

namespace winnow::newsfeed {
namespace {

constexpr int kMaxBatch = 1000;
// How long a write waits for this process' memory to show it, at most.
constexpr std::chrono::milliseconds kMemoryWait(200);

// An article by namespace and id.
template <class Request>
StatusOr<ArticleKey> KeyOf(const Request& request) {
  Violations violations;
  std::string ns = NamespaceOf(request.namespace_(), violations);
  if (!IsArticleId(request.id())) {
    violations.Add("id", "must be [A-Za-z0-9._:-], 1 to 128 characters");
  }
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  return ArticleKey{std::move(ns), request.id()};
}

// The valid articles of a request, and what is wrong with the others.
struct Batch {
  std::vector<Article> articles;
  std::vector<std::string> prefixes;  // of articles
  std::vector<Status> refusals;       // one per article of the request; OK for the valid
};

Batch ReadBatch(const v1::BatchUpsertArticlesRequest& request) {
  Batch batch;
  batch.articles.reserve(static_cast<size_t>(request.articles_size()));
  for (int i = 0; i < request.articles_size(); ++i) {
    std::string prefix = "articles[" + std::to_string(i) + "].";
    Violations violations;
    Article article = FromProto(request.articles(i), prefix, violations);
    batch.refusals.push_back(violations.ToStatus());
    if (!violations.empty()) continue;
    batch.articles.push_back(std::move(article));
    batch.prefixes.push_back(std::move(prefix));
  }
  return batch;
}

}  // namespace

// So that who writes and then reads here sees what was written; other processes follow in
// milliseconds.
void Handlers::AwaitMemory(const rpc::CallContext& call) {
  const Deadline limit = std::chrono::steady_clock::now() + kMemoryWait;
  keeper_.Await(store_.last_commit(), std::min(call.deadline, limit));
}

StatusOr<v1::GetArticleResponse> Handlers::GetArticle(const rpc::CallContext& call,
                                                      const v1::GetArticleRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const ArticleKey key, KeyOf(request));
  WINNOW_ASSIGN_OR_RETURN(StoredArticle article, store_.Get(call.deadline, key.first, key.second));
  v1::GetArticleResponse response;
  *response.mutable_article() = ToProto(std::move(article));
  return response;
}

StatusOr<v1::BatchUpsertArticlesResponse> Handlers::BatchUpsertArticles(
    const rpc::CallContext& call, const v1::BatchUpsertArticlesRequest& request) {
  if (request.articles().empty() || request.articles_size() > kMaxBatch) {
    return InvalidField("articles", "has " + std::to_string(request.articles_size()) +
                                        " entries: send 1 to " + std::to_string(kMaxBatch) +
                                        " a call");
  }
  const Batch batch = ReadBatch(request);
  const std::vector<Sent> sent = ToSent(batch.articles, batch.prefixes);
  WINNOW_ASSIGN_OR_RETURN(auto stored, store_.Upsert(call.deadline, sent));
  AwaitMemory(call);
  v1::BatchUpsertArticlesResponse response;
  auto next = stored.begin();
  for (const Status& refusal : batch.refusals) {
    const StatusOr<Upserted> result = refusal.ok() ? std::move(*next++) : refusal;
    metrics_.Count(result);
    if (result.ok()) {
      *response.add_results()->mutable_upserted() = ToProto(*result);
    } else {
      *response.add_results()->mutable_error() = rpc::ToRpcStatus(result.status(), call.request_id);
    }
  }
  return response;
}

StatusOr<v1::DeleteArticleResponse> Handlers::DeleteArticle(
    const rpc::CallContext& call, const v1::DeleteArticleRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const ArticleKey key, KeyOf(request));
  WINNOW_ASSIGN_OR_RETURN(const Time deleted, store_.Delete(call.deadline, key.first, key.second));
  AwaitMemory(call);
  v1::DeleteArticleResponse response;
  *response.mutable_delete_time() = ToTimestamp(deleted);
  return response;
}

StatusOr<v1::CreateCategoryResponse> Handlers::CreateCategory(
    const rpc::CallContext& call, const v1::CreateCategoryRequest& request) {
  if (!request.has_category()) return InvalidField("category", "is required: set the category");
  Violations violations;
  const Category category = FromProto(request.category(), "category.", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const Category created, store_.CreateCategory(call.deadline, category));
  v1::CreateCategoryResponse response;
  *response.mutable_category() = ToProto(created);
  return response;
}

StatusOr<v1::ListCategoriesResponse> Handlers::ListCategories(
    const rpc::CallContext& call, const v1::ListCategoriesRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const CategoryQuery query, FromProto(request));
  WINNOW_ASSIGN_OR_RETURN(std::vector<Category> categories,
                          store_.ListCategories(call.deadline, query));
  v1::ListCategoriesResponse response;
  if (categories.size() > static_cast<size_t>(query.page_size)) {
    categories.resize(static_cast<size_t>(query.page_size));
    response.set_next_page_token(NextToken(query, categories.back()));
  }
  for (const Category& category : categories) *response.add_categories() = ToProto(category);
  return response;
}

}  // namespace winnow::newsfeed
