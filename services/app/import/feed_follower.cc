#include "services/app/import/feed_follower.h"

#include <condition_variable>
#include <mutex>

namespace winnow::app {
namespace {

using newsfeed::v1::NewsFeedService;

constexpr std::chrono::milliseconds kInterval{20};

}  // namespace

FeedFollower::FeedFollower(const Remote& remote, std::string item_namespace)
    : remote_(remote),
      namespace_(std::move(item_namespace)),
      stub_(NewsFeedService::NewStub(remote.channel())) {}

bool FeedFollower::Has(const std::string& id, std::chrono::milliseconds limit) {
  newsfeed::v1::GetArticleRequest request;
  request.set_namespace_(namespace_);
  request.set_id(id);
  std::mutex mutex;
  std::condition_variable nobody_notifies;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    newsfeed::v1::GetArticleResponse response;
    grpc::ClientContext context;
    remote_.PrepareCall(context);
    const Status status = ToStatus(stub_->GetArticle(&context, request, &response));
    if (status.code() != StatusCode::kNotFound) return status.ok();
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::unique_lock lock(mutex);
    nobody_notifies.wait_for(lock, kInterval);
  }
}

}  // namespace winnow::app
