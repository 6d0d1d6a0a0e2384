#include "services/app/import/feed_follower.h"

#include <condition_variable>
#include <mutex>

namespace winnow::app {
namespace {

using newsfeed::v1::NewsFeedService;

constexpr std::chrono::milliseconds kInterval{20};

}  // namespace

FeedFollower::FeedFollower(const Remote& remote, std::string item_namespace)
    : server_(remote), namespace_(std::move(item_namespace)) {}

bool FeedFollower::Has(const std::string& id, std::chrono::milliseconds limit) {
  newsfeed::v1::GetArticleRequest request;
  request.set_namespace_(namespace_);
  request.set_id(id);
  std::mutex mutex;
  std::condition_variable nobody_notifies;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    const Status status = server_.Call(&NewsFeedService::Stub::GetArticle, request).status();
    if (status.code() != StatusCode::kNotFound) return status.ok();
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::unique_lock lock(mutex);
    nobody_notifies.wait_for(lock, kInterval);
  }
}

}  // namespace winnow::app
