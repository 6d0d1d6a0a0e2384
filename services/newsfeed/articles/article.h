#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/status.h"

// What an article is, what it may hold, and what becomes of it when it is sent again.
namespace winnow::newsfeed {

// The feeds sort by whole milliseconds, so that the published cursor loses nothing.
using Millis = std::chrono::sys_time<std::chrono::milliseconds>;

// Position of an article in every feed it is in. Feeds are ordered by publish time, then by id in
// byte order, newest first.
struct FeedKey {
  Millis publish_time;
  std::string id;
  friend bool operator==(const FeedKey&, const FeedKey&) = default;
  friend auto operator<=>(const FeedKey&, const FeedKey&) = default;
};

inline constexpr size_t kMaxUrl = 2048;
inline constexpr size_t kMaxTitle = 1000;
inline constexpr size_t kMaxSnippet = 20'000;
inline constexpr size_t kMaxSource = 128;
inline constexpr size_t kMaxSourceName = 200;
inline constexpr size_t kMaxCategories = 16;
inline constexpr size_t kMaxRule = 200;
inline constexpr size_t kMaxTags = 64;
inline constexpr size_t kMaxTag = 100;
inline constexpr size_t kMaxLanguage = 35;

// Why an article is in a category.
struct CategoryLabel {
  std::string id;
  std::string rule = "caller";
  double score = 1;
  std::string span{};  // where a rule found it: "title 3 6", in characters; empty: nowhere
  friend bool operator==(const CategoryLabel&, const CategoryLabel&) = default;
};

// An article as a caller sends it, or as the pipeline makes it of an item.
struct Article {
  std::string ns = "default";
  std::string id;
  std::string url;            // empty only for items of the pipeline that have none
  std::string canonical_url;  // by Validate; empty when url is
  std::string title;
  std::string snippet;
  std::string source;
  std::string source_name;
  std::string source_icon_url;
  std::string thumbnail_url;
  std::string video_url;
  std::vector<CategoryLabel> categories;
  std::vector<std::string> keywords;
  std::vector<std::string> ai_tags;
  std::string language;
  Time publish_time;
  friend bool operator==(const Article&, const Article&) = default;
};

// An article as it is kept.
struct StoredArticle {
  int64_t number = 0;      // its first position in the log; by the store
  Article content;         // its publish_time is the one first sent
  Hash128Value sent_hash;  // ContentHash of what its own id sent last
  Millis publish_time;     // the sort key; never changes
  Millis first_publish_time;
  bool publish_time_clamped = false;
  Time create_time;
  Time update_time;
  std::optional<Time> delete_time;
  int64_t revision = 1;
  int64_t citation_count = 0;
  std::vector<std::string> citation_channels;
  friend bool operator==(const StoredArticle&, const StoredArticle&) = default;
};

// Whether `id` is [A-Za-z0-9._:-]{1,128}.
bool IsArticleId(std::string_view id);

enum class UrlRule { kRequired, kOptional };

// Adds every violation of the article to `violations`, fields prefixed by `prefix` ("articles[3].")
// and sets canonical_url.
void Validate(Article& article, UrlRule rule, const std::string& prefix, Violations& violations);

// Rounded towards the past, also before 1970.
Millis ToMillis(Time time);

struct SortTime {
  Millis time;
  bool clamped = false;
};
// The time that sorts: `sent`, but at most `latest`.
SortTime ClampPublishTime(Time sent, Time latest);

// Equal for equal articles, whatever process or version made it.
Hash128Value ContentHash(const Article& article);

// How an article begins.
StoredArticle NewArticle(const Article& sent, Time latest, Time now);

// Its own id sends it again: what is sent replaces what is stored, except the sort key; an earlier
// publish_time goes to first_publish_time. Answers whether anything changed; then revision and
// update_time did too.
bool Replace(StoredArticle& stored, const Article& sent, Time latest, Time now);

// Another id sends the same page: the best of each field stays (README.md has the order). Merging
// the same again changes nothing. Answers as Replace.
bool Merge(StoredArticle& stored, const Article& sent, Time latest, Time now);

}  // namespace winnow::newsfeed
