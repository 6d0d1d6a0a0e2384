#include "services/newsfeed/projection/projection_audit_client.h"

#include <algorithm>

#include "services/newsfeed/projection/projection.h"

namespace winnow::newsfeed {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kMinSlice = 100;
constexpr size_t kRepliesPerFeed = 3;

void AskForFeed(const std::string& category, std::vector<redis::Command>& asks) {
  asks.push_back({"HGET", StateKeyOf(category), "position"});
  asks.push_back({"ZCARD", FeedKeyOf(category)});
  asks.push_back({"EXISTS", MetaKeyOf(category)});
}

// A reply of another type is an error of Redis, which means that the key is not as it was written.
bool IsIntact(const redis::Reply* replies, const WrittenFeed& written) {
  const auto position = replies[0].MaybeText();
  const auto count = replies[1].Integer();
  const auto has_meta = replies[2].Integer();
  return position.ok() && *position == std::to_string(written.position) && count.ok() &&
         *count == std::ssize(written.ids) && has_meta.ok() && *has_meta == 1;
}

}  // namespace

ProjectionAuditClient::ProjectionAuditClient(redis::Client& redis, milliseconds interval,
                                             milliseconds period, Metrics& metrics)
    : redis_(redis),
      interval_(interval),
      period_(period),
      lost_(metrics.GetCounter("winnow_newsfeed_projection_lost_total",
                               "Feeds written to Redis again because a key of theirs was gone.")),
      round_seconds_(metrics.GetGauge(
          "winnow_newsfeed_projection_audit_seconds",
          "How long the last complete check of the articles in Redis took: what was deleted there "
          "is written again within about this time.")),
      articles_(metrics.GetGauge("winnow_newsfeed_projection_audit_articles",
                                 "Articles that one complete check of Redis looks at.")) {}

StatusOr<std::set<std::string>> ProjectionAuditClient::Look(Deadline deadline,
                                                            const WrittenFeeds& written) {
  std::vector<redis::Command> asks;
  for (const auto& [category, feed] : written) AskForFeed(category, asks);
  if (queue_.empty()) BeginRound(written);
  const size_t count = std::min(slice_, queue_.size());
  for (size_t i = 0; i < count; ++i) asks.push_back({"EXISTS", ArticleKeyOf(queue_[i].id)});
  std::set<std::string> lost;
  if (asks.empty()) return lost;
  WINNOW_ASSIGN_OR_RETURN(const std::vector<redis::Reply> replies, redis_.Pipeline(deadline, asks));
  size_t at = 0;
  for (const auto& [category, feed] : written) {
    if (!IsIntact(&replies[at], feed)) lost.insert(category);
    at += kRepliesPerFeed;
  }
  for (size_t i = 0; i < count; ++i, ++at) {
    WINNOW_ASSIGN_OR_RETURN(const int64_t exists, replies[at].Integer());
    if (exists == 0) lost.insert(queue_[i].category);
  }
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
  if (queue_.empty()) EndRound();
  lost_.Increment(static_cast<double>(lost.size()));
  return lost;
}

void ProjectionAuditClient::BeginRound(const WrittenFeeds& written) {
  std::map<std::string, std::string> categories;  // by article, each once
  for (const auto& [category, feed] : written) {
    for (const std::string& id : feed.ids) categories.emplace(id, category);
  }
  for (auto& [id, category] : categories) queue_.push_back({id, std::move(category)});
  round_begun_ = steady_clock::now();
  articles_.Set(static_cast<double>(queue_.size()));
  if (period_ <= interval_) {
    slice_ = queue_.size();
    return;
  }
  const auto looks = static_cast<size_t>(period_ / std::max(interval_, milliseconds(1)));
  slice_ = std::clamp(queue_.size() / looks + 1, kMinSlice, kMaxSlice);
}

void ProjectionAuditClient::EndRound() {
  const std::chrono::duration<double> took = steady_clock::now() - *round_begun_;
  round_seconds_.Set(took.count());
}

}  // namespace winnow::newsfeed
