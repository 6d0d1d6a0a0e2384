#include "services/app/import/redis/redis_news.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "services/app/import/redis/redis_source.h"
#include "services/platform/base/text.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::app {
namespace {

using redis::Command;

constexpr char kFeedPrefix[] = "news:feed:";
constexpr int kPage = 1'000;
// Of an article's hash, written by the newsfeed's projection alone (docs/adr/0018).
constexpr char kWinnowField[] = "winnow";

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// Of those that a category of ours may have.
bool IsCategory(const std::string& name) {
  return IsSlug(name) && name != "all" && name != "uncategorized";
}

}  // namespace

StatusOr<std::vector<std::string>> FindRedisCategories(redis::Client& redis) {
  std::set<std::string> found;
  WINNOW_RETURN_IF_ERROR(ForEachRedisKey(redis, kFeedPrefix, [&](const std::string& key) {
    found.insert(key.substr(sizeof(kFeedPrefix) - 1));
  }));
  return std::vector<std::string>(found.begin(), found.end());
}

Status ReadRedisFeed(redis::Client& redis, const std::string& category, RedisFeeds& feeds) {
  for (int64_t begin = 0;; begin += kPage) {
    WINNOW_ASSIGN_OR_RETURN(
        const redis::Reply reply,
        redis.Run(RedisDeadline(), {"ZRANGE", kFeedPrefix + category, std::to_string(begin),
                                    std::to_string(begin + kPage - 1), "WITHSCORES"}));
    WINNOW_ASSIGN_OR_RETURN(const auto pairs, reply.Pairs());
    for (const auto& [id, score] : pairs) {
      RedisEntry& entry = feeds[id];
      entry.publish_ms = std::llround(std::strtod(score.c_str(), nullptr));
      if (IsCategory(category)) entry.categories.insert(category);
    }
    if (feeds.size() > kMaxRedisArticles) {
      return FailedPrecondition("there are more than " + std::to_string(kMaxRedisArticles) +
                                " articles; import some categories at a time");
    }
    if (pairs.size() < kPage) return OkStatus();
  }
}

StatusOr<std::vector<RedisFields>> ReadRedisArticles(redis::Client& redis,
                                                     const std::vector<std::string>& ids) {
  std::vector<Command> commands;
  for (const std::string& id : ids) commands.push_back({"HGETALL", "news:article:" + id});
  WINNOW_ASSIGN_OR_RETURN(const std::vector<redis::Reply> replies,
                          redis.Pipeline(RedisDeadline(), commands));
  std::vector<RedisFields> articles;
  for (const redis::Reply& reply : replies) {
    WINNOW_ASSIGN_OR_RETURN(RedisFields fields, reply.Pairs());
    articles.push_back(std::move(fields));
  }
  return articles;
}

std::optional<newsfeed::v1::Article> ToArticle(const std::string& id, const RedisEntry& entry,
                                               const RedisFields& fields) {
  const std::map<std::string, std::string> named(fields.begin(), fields.end());
  const auto text = [&](const char* name) {
    const auto found = named.find(name);
    return found == named.end() ? std::string() : found->second;
  };
  newsfeed::v1::Article article;
  article.set_id(id);
  article.set_url(text("url"));
  article.set_title(text("title"));
  if (article.url().empty() || article.title().empty()) return std::nullopt;
  article.set_snippet(text("snippet"));
  article.set_source(text("source").empty() ? "redis" : text("source"));
  article.set_source_name(text("source_name"));
  article.set_source_icon_url(text("source_icon_url"));
  article.set_thumbnail_url(text("thumbnail_url"));
  article.set_video_url(text("video_url"));
  article.set_language(text("language"));
  for (const std::string& keyword : Split(text("keywords"))) article.add_keywords(keyword);
  if (!text("ai_tag").empty()) article.add_ai_tags(text("ai_tag"));
  std::set<std::string> categories = entry.categories;
  if (IsCategory(text("category"))) categories.insert(text("category"));
  for (const std::string& category : categories) {
    article.add_categories()->set_category_id(category);
    article.mutable_categories()->rbegin()->set_rule("redis");
  }
  *article.mutable_publish_time() = ToTimestamp(Time(std::chrono::milliseconds(entry.publish_ms)));
  return article;
}

bool IsProjectedByWinnow(const RedisFields& fields) {
  return std::any_of(fields.begin(), fields.end(),
                     [](const auto& field) { return field.first == kWinnowField; });
}

std::string ComparedText(const newsfeed::v1::Article& article) {
  const auto time = FromTimestamp(article.publish_time());
  const int64_t ms = time.ok() ? time->time_since_epoch().count() / 1'000 : 0;
  std::string text;
  for (const std::string& part :
       {article.id(), std::to_string(ms), article.url(), article.title(), article.snippet()}) {
    text += std::to_string(part.size()) + ':' + part;
  }
  return text;
}

}  // namespace winnow::app
