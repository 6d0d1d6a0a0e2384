#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/platform/base/status.h"
#include "services/platform/redis/client.h"
#include "winnow/newsfeed/v1/newsfeed.pb.h"

// A Redis in the published layout, read: news:feed:{category} and news:article:{id}.
namespace winnow::app {

// Articles that one import takes at most.
inline constexpr size_t kMaxRedisArticles = 1'000'000;

// What feeds say of an article.
struct RedisEntry {
  int64_t publish_ms = 0;
  std::set<std::string> categories;
};
using RedisFeeds = std::map<std::string, RedisEntry>;  // by id

// The categories that have a feed there: SCAN of news:feed:*.
StatusOr<std::vector<std::string>> FindRedisCategories(redis::Client& redis);

// Adds a category's feed. FAILED_PRECONDITION beyond kMaxRedisArticles.
Status ReadRedisFeed(redis::Client& redis, const std::string& category, RedisFeeds& feeds);

// The articles' hashes, in order; empty for those that are gone.
using RedisFields = std::vector<std::pair<std::string, std::string>>;
StatusOr<std::vector<RedisFields>> ReadRedisArticles(redis::Client& redis,
                                                     const std::vector<std::string>& ids);

// The article of a hash; nothing when it has no url or no title. "all" and "uncategorized" are no
// categories; the publish time is the feed's.
std::optional<newsfeed::v1::Article> ToArticle(const std::string& id, const RedisEntry& entry,
                                               const RedisFields& fields);

// Whether Winnow wrote the hash: it is a copy of an article that the store has in full.
bool IsProjectedByWinnow(const RedisFields& fields);

// What must be the same on both sides: id, publish time in ms, url, title, snippet.
std::string ComparedText(const newsfeed::v1::Article& article);

}  // namespace winnow::app
