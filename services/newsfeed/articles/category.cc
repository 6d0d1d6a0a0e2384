#include "services/newsfeed/articles/category.h"

#include <algorithm>
#include <cstdio>

#include "services/platform/base/hash.h"
#include "services/platform/base/text.h"

namespace winnow::newsfeed {

bool IsBuiltInFeed(std::string_view id) { return id == kAllFeed || id == kUncategorizedFeed; }

void Validate(const Category& category, const std::string& prefix, Violations& violations) {
  constexpr char kSlug[] = "must be [a-z0-9-], 1 to 64 characters";
  if (!IsSlug(category.ns)) violations.Add(prefix + "namespace", kSlug);
  if (!IsSlug(category.id)) {
    violations.Add(prefix + "id", kSlug);
  } else if (IsBuiltInFeed(category.id)) {
    violations.Add(prefix + "id",
                   "\"" + category.id + "\" is a feed that every namespace has; choose another id");
  }
  if (!category.parent_id.empty() && !IsSlug(category.parent_id)) {
    violations.Add(prefix + "parent_id", kSlug);
  } else if (!category.parent_id.empty() && category.parent_id == category.id) {
    violations.Add(prefix + "parent_id", "a category cannot be below itself");
  }
  const size_t characters = CountCharacters(category.display_name);
  if (characters == 0) {
    violations.Add(prefix + "display_name", "is required");
  } else if (characters > kMaxDisplayName) {
    violations.Add(prefix + "display_name", "has " + std::to_string(characters) +
                                                " characters, the limit is " +
                                                std::to_string(kMaxDisplayName) + "; shorten it");
  } else if (category.display_name.find('\0') != std::string::npos) {
    violations.Add(prefix + "display_name",
                   "holds a NUL character (U+0000), which no text may; remove it");
  }
}

StatusOr<std::vector<std::string>> PathBelow(const std::vector<std::string>& parent_path,
                                             const std::string& id, const std::string& field) {
  if (std::find(parent_path.begin(), parent_path.end(), id) != parent_path.end()) {
    return FailedPrecondition("category \"" + id + "\" is above \"" + parent_path.back() +
                              "\" and cannot be below it too");
  }
  if (parent_path.size() >= kMaxCategoryDepth) {
    return InvalidField(field, "\"" + parent_path.back() + "\" is at level " +
                                   std::to_string(parent_path.size()) + ", the last of " +
                                   std::to_string(kMaxCategoryDepth) + "; choose one above it");
  }
  std::vector<std::string> path = parent_path;
  path.push_back(id);
  return path;
}

std::string EtagOf(const Category& category, int64_t revision) {
  const std::string what = category.ns + "/" + category.id + "/" + std::to_string(revision) + "/" +
                           std::to_string(category.create_time.time_since_epoch().count());
  char etag[20];
  std::snprintf(etag, sizeof(etag), "%016llx", static_cast<unsigned long long>(Hash64(what)));
  return etag;
}

std::string FeedName(std::string_view ns, std::string_view category) {
  std::string name(ns);
  name += '/';
  name += category;
  return name;
}

std::vector<std::string> FeedsOf(std::string_view ns, const std::vector<std::string>& categories,
                                 const CategoryPaths& paths) {
  std::vector<std::string> feeds = {FeedName(ns, kAllFeed)};
  for (const std::string& category : categories) {
    const auto path = paths.find(category);
    if (path == paths.end()) continue;
    for (const std::string& id : path->second) feeds.push_back(FeedName(ns, id));
  }
  if (feeds.size() == 1) feeds.push_back(FeedName(ns, kUncategorizedFeed));
  std::sort(feeds.begin(), feeds.end());
  feeds.erase(std::unique(feeds.begin(), feeds.end()), feeds.end());
  return feeds;
}

std::string ToSlug(std::string_view text) {
  std::string slug;
  for (const char c : NormalizeNfkcCaseFold(text)) {
    if (('a' <= c && c <= 'z') || ('0' <= c && c <= '9')) {
      slug += c;
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      return {};  // half of a name would be another name
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  if (!slug.empty() && slug.back() == '-') slug.pop_back();
  return IsSlug(slug) ? slug : std::string();
}

}  // namespace winnow::newsfeed
