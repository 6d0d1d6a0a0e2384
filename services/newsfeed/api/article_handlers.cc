#include "services/newsfeed/api/article_handlers.h"

#include <set>

#include "services/newsfeed/api/convert.h"
#include "services/newsfeed/write/collected_item.h"
#include "services/platform/base/url/url.h"
#include "services/platform/grpc/errors/rpc_status.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::newsfeed {
namespace {

constexpr int kMaxBatch = 1000;

// An article of a request, absent or not, and what its fields begin with in violations.
struct SentArticle {
  const v1::Article* article = nullptr;
  std::string prefix;
  bool categorize = false;
};

ArticleBatch ReadBatch(std::vector<SentArticle> sent) {
  ArticleBatch batch;
  batch.articles.reserve(sent.size());
  for (SentArticle& item : sent) {
    if (item.article == nullptr) {
      batch.refusals.push_back(InvalidField("article", "is required: set the article"));
      continue;
    }
    Violations violations;
    Article article = FromProto(*item.article, item.prefix, violations);
    batch.refusals.push_back(violations.ToStatus());
    if (!violations.empty()) continue;
    batch.articles.push_back(std::move(article));
    batch.prefixes.push_back(std::move(item.prefix));
    batch.revisions.push_back(item.article->revision());
    batch.categorize.push_back(item.categorize);
  }
  return batch;
}

Status CheckBatchSize(int size, const char* field) {
  if (0 < size && size <= kMaxBatch) return OkStatus();
  return InvalidField(field, "has " + std::to_string(size) + " entries: send 1 to " +
                                 std::to_string(kMaxBatch) + " a call");
}

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

}  // namespace

StatusOr<v1::GetArticleResponse> ArticleHandlers::GetArticle(const rpc::CallContext& call,
                                                             const v1::GetArticleRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const ArticleKey key, KeyOf(request));
  WINNOW_ASSIGN_OR_RETURN(StoredArticle article,
                          parts_.articles.Get(call.deadline, key.first, key.second));
  return rpc::Respond(&v1::GetArticleResponse::mutable_article, ToProto(std::move(article)));
}

StatusOr<v1::DeleteArticleResponse> ArticleHandlers::DeleteArticle(
    const rpc::CallContext& call, const v1::DeleteArticleRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const ArticleKey key, KeyOf(request));
  WINNOW_ASSIGN_OR_RETURN(const Time deleted,
                          parts_.writes.Delete(call.deadline, key.first, key.second));
  parts_.memory_worker.AwaitCommitted(parts_.last_commit, call.deadline);
  return rpc::Respond(&v1::DeleteArticleResponse::mutable_delete_time, ToTimestamp(deleted));
}

StatusOr<v1::UndeleteArticleResponse> ArticleHandlers::UndeleteArticle(
    const rpc::CallContext& call, const v1::UndeleteArticleRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const ArticleKey key, KeyOf(request));
  WINNOW_ASSIGN_OR_RETURN(StoredArticle article,
                          parts_.writes.Undelete(call.deadline, key.first, key.second));
  parts_.memory_worker.AwaitCommitted(parts_.last_commit, call.deadline);
  return rpc::Respond(&v1::UndeleteArticleResponse::mutable_article, ToProto(std::move(article)));
}

StatusOr<std::vector<v1::UpsertArticleResult>> ArticleHandlers::Put(const rpc::CallContext& call,
                                                                    ArticleBatch batch) {
  WINNOW_RETURN_IF_ERROR(Categorize(call, batch));
  const std::vector<Sent> sent = ToSent(batch.articles, batch.prefixes, batch.revisions);
  WINNOW_ASSIGN_OR_RETURN(auto stored, parts_.writes.Upsert(call.deadline, sent));
  parts_.memory_worker.AwaitCommitted(parts_.last_commit, call.deadline);
  std::vector<v1::UpsertArticleResult> results(batch.refusals.size());
  auto next = stored.begin();
  for (size_t i = 0; i < results.size(); ++i) {
    const Status& refusal = batch.refusals[i];
    const StatusOr<Upserted> result = refusal.ok() ? std::move(*next++) : refusal;
    parts_.metrics.Count(result);
    if (result.ok()) {
      *results[i].mutable_upserted() = ToProto(*result);
    } else {
      *results[i].mutable_error() = rpc::ToRpcStatus(result.status(), call.request_id);
    }
  }
  return results;
}

Status ArticleHandlers::Categorize(const rpc::CallContext& call, ArticleBatch& batch) {
  std::set<ArticleKey> named;
  for (size_t i = 0; i < batch.articles.size(); ++i) {
    if (!batch.categorize[i]) continue;
    for (const RuleCategory& category : parts_.rules.categories()) {
      named.emplace(batch.articles[i].ns, category.id);
    }
  }
  if (named.empty()) return OkStatus();
  WINNOW_ASSIGN_OR_RETURN(const auto existing, parts_.categories.Existing(call.deadline, named));
  for (size_t i = 0; i < batch.articles.size(); ++i) {
    if (batch.categorize[i]) AddRuleLabels(parts_.rules, existing, {}, batch.articles[i]);
  }
  return OkStatus();
}

StatusOr<v1::BatchUpsertArticlesResponse> ArticleHandlers::BatchUpsertArticles(
    const rpc::CallContext& call, const v1::BatchUpsertArticlesRequest& request) {
  WINNOW_RETURN_IF_ERROR(CheckBatchSize(request.articles_size(), "articles"));
  std::vector<SentArticle> sent;
  for (int i = 0; i < request.articles_size(); ++i) {
    sent.push_back(
        {&request.articles(i), "articles[" + std::to_string(i) + "].", request.categorize()});
  }
  WINNOW_ASSIGN_OR_RETURN(auto results, Put(call, ReadBatch(std::move(sent))));
  v1::BatchUpsertArticlesResponse response;
  for (v1::UpsertArticleResult& result : results) *response.add_results() = std::move(result);
  return response;
}

StatusOr<std::vector<v1::IngestArticlesResponse>> ArticleHandlers::IngestArticles(
    const rpc::CallContext& call, std::span<const v1::IngestArticlesRequest> requests) {
  std::vector<SentArticle> sent;
  for (const v1::IngestArticlesRequest& request : requests) {
    sent.push_back(
        {request.has_article() ? &request.article() : nullptr, "article.", request.categorize()});
  }
  WINNOW_ASSIGN_OR_RETURN(auto results, Put(call, ReadBatch(std::move(sent))));
  std::vector<v1::IngestArticlesResponse> responses(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    *responses[i].mutable_result() = std::move(results[i]);
  }
  return responses;
}

StatusOr<v1::BatchGetArticlesResponse> ArticleHandlers::BatchGetArticles(
    const rpc::CallContext& call, const v1::BatchGetArticlesRequest& request) {
  WINNOW_RETURN_IF_ERROR(CheckBatchSize(request.ids_size(), "ids"));
  Violations violations;
  const std::string ns = NamespaceOf(request.namespace_(), violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  std::vector<std::string> ids;
  for (const std::string& id : request.ids()) {
    if (IsArticleId(id)) ids.push_back(id);
  }
  WINNOW_ASSIGN_OR_RETURN(auto found, parts_.articles.BatchGet(call.deadline, ns, ids));
  v1::BatchGetArticlesResponse response;
  auto next = found.begin();
  for (int i = 0; i < request.ids_size(); ++i) {
    v1::GetArticleResult& result = *response.add_results();
    Status missing = OkStatus();
    if (!IsArticleId(request.ids(i))) {
      missing = InvalidField("ids[" + std::to_string(i) + "]",
                             "must be [A-Za-z0-9._:-], 1 to 128 characters");
    } else if (std::optional<StoredArticle> article = std::move(*next++); article) {
      *result.mutable_article() = ToProto(*std::move(article));
    } else {
      missing = NotFound("article", request.ids(i));
    }
    if (!missing.ok()) *result.mutable_error() = rpc::ToRpcStatus(missing, call.request_id);
  }
  return response;
}

StatusOr<v1::LookupArticleResponse> ArticleHandlers::LookupArticle(
    const rpc::CallContext& call, const v1::LookupArticleRequest& request) {
  Violations violations;
  const std::string ns = NamespaceOf(request.namespace_(), violations);
  const std::string canonical_url = CanonicalUrlOf(request.url(), violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(StoredArticle article,
                          parts_.articles.LookUp(call.deadline, ns, canonical_url));
  return rpc::Respond(&v1::LookupArticleResponse::mutable_article, ToProto(std::move(article)));
}

}  // namespace winnow::newsfeed
