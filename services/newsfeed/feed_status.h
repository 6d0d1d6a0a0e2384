#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "services/newsfeed/feed_memory.h"
#include "services/platform/clock.h"
#include "services/platform/hash.h"

namespace winnow::newsfeed {

// A feed as it was written to Redis last.
struct ProjectedFeed {
  int64_t position = 0;
  std::string epoch;
  Hash128Value checksum;
  Time written_at{};  // by the store, when it is read back
};

// Pages of feeds by who served them, since the process started.
struct PageCounts {
  int64_t memory = 0;
  int64_t spliced = 0;  // memory and the store
  int64_t store = 0;
};

// How far all articles, and their changes, have been looked through for words and keywords that are
// missing, or of other rules (index_rules.h).
struct IndexProgress {
  int64_t position = 0;
  bool complete = false;  // the end was reached once: what came since was made as it came or soon
};

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
