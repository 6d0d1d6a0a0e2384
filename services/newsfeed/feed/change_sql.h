#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "services/newsfeed/articles/article.h"
#include "services/newsfeed/feed/feed_memory.h"
#include "services/platform/postgres/session/session.h"

// The log of the feeds, read by who follows it.
namespace winnow::newsfeed {

// A change of an article, with its place in every feed.
struct LoggedChange {
  int64_t seq = 0;
  std::string ns;
  FeedKey key;
  std::vector<std::string> left_feeds;
};

// Changes with after < seq <= until, in order, at most `limit`. Of one that the log has dropped
// already: nothing, when the first is not after + 1.
std::vector<LoggedChange> ReadChanges(pg::Session& session, int64_t after, int64_t until,
                                      int limit);

// A place in a feed.
struct Place {
  std::string ns;
  std::string feed;
  FeedKey key;
};

// What stands in a place.
struct PlacedArticle {
  int64_t seq = 0;
  StoredArticle article;
};

// What stands in each place now, in order; nothing where no entry is.
std::vector<std::optional<PlacedArticle>> ReadPlaces(pg::Session& session,
                                                     std::span<const Place> places);

std::map<std::string, Freshness> ReadFreshness(pg::Session& session,
                                               const std::set<std::string>& namespaces);

}  // namespace winnow::newsfeed
