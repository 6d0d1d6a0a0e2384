#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/newsfeed/articles/article.h"
#include "services/newsfeed/feed/feed_token.h"

// What is asked of a feed, and what it answers.
namespace winnow::newsfeed {

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
