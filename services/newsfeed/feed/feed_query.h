#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/newsfeed/articles/article.h"
#include "services/newsfeed/keywords/keywords.h"
#include "services/platform/base/status.h"

// Where a scroll stands. A token needs neither its anchor row nor the process that made it, and
// grants nothing: it only says where to go on.
// What is asked of a feed, and what it answers.
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

// Rows of a feed that one page may look at, also those that the watermark or a filter hides.
inline constexpr int kScanLimit = 10'000;
inline constexpr int kDefaultPageSize = 20;
inline constexpr int kMaxPageSize = 100;
inline constexpr int kMaxFilterValues = 32;

struct FeedQuery {
  std::string ns = "default";
  std::string category;  // or a built-in feed
  FeedFilter filter{};
  FeedPosition position{};
  int page_size = kDefaultPageSize;
  int scan_limit = kScanLimit;  // less in tests
};

struct FeedPage {
  std::vector<StoredArticle> articles;
  std::vector<int64_t> seqs;    // of articles: the change that brought each into the feed
  std::optional<FeedKey> next;  // where the next page begins; none at the end
  int64_t since = 0;            // the positions that the page was cut by: after since,
  int64_t until = 0;            // up to the watermark
  std::string epoch;
  std::optional<Time> changed_at;  // of the namespace: any change
  std::optional<Time> created_at;  // a new article
  int64_t tree_revision = 0;       // of its categories
};

// How many entries are newer than a place in the log.
struct NewerCount {
  int64_t count = 0;
  bool exact = true;  // false: there are more
};

}  // namespace winnow::newsfeed
