#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/newsfeed/articles/feed_key.h"
#include "services/newsfeed/keywords/keywords.h"
#include "services/platform/base/status.h"

// Where a scroll stands. A token needs neither its anchor row nor the process that made it, and
// grants nothing: it only says where to go on.
namespace winnow::newsfeed {

// Shows entries with since < seq <= until and a key below `before`.
struct FeedPosition {
  std::optional<FeedKey> before{};  // absent: from the top
  int64_t since = 0;                // of the newer feed; 0 for a scroll
  std::optional<int64_t> until{};   // the watermark W; absent: what is there now
  std::string epoch{};              // the history that since and until belong to
  std::optional<int64_t> tree{};    // revision of the category tree when the scroll began
  friend bool operator==(const FeedPosition&, const FeedPosition&) = default;
};

// What is listed. All that are set must hold.
struct FeedFilter {
  std::vector<std::string> sources;
  std::vector<std::string> languages;
  std::optional<bool> has_image;
  std::optional<Time> publish_time_from;
  std::optional<Time> publish_time_until;
  KeywordExpression keywords;
};

// Covers what must not change between the pages of a scroll; the order and repeats of sources and
// languages do not matter.
uint64_t HashFeed(std::string_view ns, std::string_view category, const FeedFilter& filter);

std::string EncodeFeedToken(const FeedPosition& position, uint64_t filter_hash);

// A token, or the published cursor "{publish_time in ms}_{id}" split at the first underscore. An
// empty token is the top of the feed. Errors: INVALID_PAGE_TOKEN.
StatusOr<FeedPosition> ParseFeedToken(std::string_view token, uint64_t filter_hash);

}  // namespace winnow::newsfeed
