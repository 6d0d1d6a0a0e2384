#include "services/newsfeed/api/handlers.h"

#include <algorithm>
#include <chrono>

#include "services/newsfeed/api/convert.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::newsfeed {
namespace {

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

}  // namespace

// So that who writes and then reads here sees what was written; other processes follow in
// milliseconds.
void Handlers::AwaitMemory(const rpc::CallContext& call) {
  const Deadline limit = std::chrono::steady_clock::now() + kMemoryWait;
  const int64_t position = parts_.last_commit.Get();
  parts_.memory_worker.Await(position, std::min(call.deadline, limit));
}

StatusOr<v1::GetArticleResponse> Handlers::GetArticle(const rpc::CallContext& call,
                                                      const v1::GetArticleRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const ArticleKey key, KeyOf(request));
  WINNOW_ASSIGN_OR_RETURN(StoredArticle article,
                          parts_.articles.Get(call.deadline, key.first, key.second));
  v1::GetArticleResponse response;
  *response.mutable_article() = ToProto(std::move(article));
  return response;
}

StatusOr<v1::DeleteArticleResponse> Handlers::DeleteArticle(
    const rpc::CallContext& call, const v1::DeleteArticleRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const ArticleKey key, KeyOf(request));
  WINNOW_ASSIGN_OR_RETURN(const Time deleted,
                          parts_.writes.Delete(call.deadline, key.first, key.second));
  AwaitMemory(call);
  v1::DeleteArticleResponse response;
  *response.mutable_delete_time() = ToTimestamp(deleted);
  return response;
}

StatusOr<v1::UndeleteArticleResponse> Handlers::UndeleteArticle(
    const rpc::CallContext& call, const v1::UndeleteArticleRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const ArticleKey key, KeyOf(request));
  WINNOW_ASSIGN_OR_RETURN(StoredArticle article,
                          parts_.writes.Undelete(call.deadline, key.first, key.second));
  AwaitMemory(call);
  v1::UndeleteArticleResponse response;
  *response.mutable_article() = ToProto(std::move(article));
  return response;
}

}  // namespace winnow::newsfeed
