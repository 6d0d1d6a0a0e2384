#pragma once

#include <string>
#include <vector>

#include "services/newsfeed/articles/category.h"
#include "services/newsfeed/articles/upsert.h"

// Which feeds show an article, and what an edit changes about that.
namespace winnow::newsfeed {

// None for a deleted article.
std::vector<std::string> FeedsOf(const StoredArticle& article, const CategoryPaths& paths);

struct FeedChange {
  std::vector<std::string> entered;  // get a new position in the log
  std::vector<std::string> left;
  std::vector<std::string> refreshed;  // stay where they are, but filters would see a change
};
// `before`: the feeds that have an entry of the article, sorted.
FeedChange DiffFeeds(const Edit& edit, const std::vector<std::string>& before,
                     const CategoryPaths& paths);

}  // namespace winnow::newsfeed
