#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "services/newsfeed/feed/feed_memory.h"
#include "services/newsfeed/feed/page_counts.h"
#include "services/newsfeed/projection/projected_feed.h"
#include "services/newsfeed/search/index_rules.h"

namespace winnow::newsfeed {

// What the store says of a feed and of its namespace.
struct StoreStatus {
  int64_t head = 0;
  std::string epoch;
  Freshness freshness;
  int64_t pending_categories = 0;  // changes of the tree whose articles still follow, anywhere
  IndexProgress index;
};

// How a feed is served.
struct FeedStatus {
  std::optional<MemoryStatus> memory;  // nothing: it is not in memory
  std::optional<StoreStatus> store;    // nothing: it cannot be read
  std::optional<ProjectedFeed> projection;
  bool has_redis = false;
  bool redis_away = false;
  PageCounts pages;  // of all feeds, since the process started
};

}  // namespace winnow::newsfeed
