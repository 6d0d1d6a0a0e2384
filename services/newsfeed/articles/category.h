#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"

// The category tree and the feeds that come of it.
namespace winnow::newsfeed {

inline constexpr size_t kMaxCategoryDepth = 8;
inline constexpr size_t kMaxDisplayName = 200;
// The feed of every article of a namespace, and that of those without a category.
inline constexpr std::string_view kAllFeed = "all";
inline constexpr std::string_view kUncategorizedFeed = "uncategorized";

struct Category {
  std::string ns = "default";
  std::string id;
  std::string display_name;
  std::string parent_id;          // empty for a root
  std::vector<std::string> path;  // ids from the root down to this one
  Time create_time;
  Time update_time;  // of its name, or what it is below
  std::string etag;  // of a stored one; of one that is asked for: empty for any
  friend bool operator==(const Category&, const Category&) = default;
};

// Whether `id` names a feed that is there without a category of that name.
bool IsBuiltInFeed(std::string_view id);

// All violations of a category to be created, fields prefixed by `prefix`.
void Validate(const Category& category, const std::string& prefix, Violations& violations);

// The path of `id` below `parent_path` (empty: a root). Errors: INVALID_ARGUMENT on
// `field` when it would be deeper than kMaxCategoryDepth, FAILED_PRECONDITION when it would be
// below itself.
StatusOr<std::vector<std::string>> PathBelow(const std::vector<std::string>& parent_path,
                                             const std::string& id, const std::string& field);

// Changes with each change of the category and with each category of that name.
std::string EtagOf(const Category& category, int64_t revision);

// Paths of the categories of one namespace that matter at the moment, by id.
using CategoryPaths = std::map<std::string, std::vector<std::string>, std::less<>>;

// Name of a feed in the log: no namespace or category has a slash.
std::string FeedName(std::string_view ns, std::string_view category);

// The feeds that show an article of these categories: each, all above it, and "all"; sorted, each
// once. A category that `paths` lacks has no feed.
std::vector<std::string> FeedsOf(std::string_view ns, const std::vector<std::string>& categories,
                                 const CategoryPaths& paths);

// A source's own category as a category id would be written: lower case, "-" between words; empty
// when nothing of it can be.
std::string ToSlug(std::string_view text);

struct CategoryQuery {
  std::string ns = "default";
  std::vector<std::string> after;  // path of the last one seen; empty: from the first
  int page_size = 100;
};

}  // namespace winnow::newsfeed
