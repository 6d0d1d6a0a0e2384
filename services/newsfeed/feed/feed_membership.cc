#include "services/newsfeed/feed/feed_membership.h"

#include <algorithm>
#include <iterator>

#include "services/newsfeed/keywords/keywords.h"

namespace winnow::newsfeed {
namespace {

// What the entries repeat of their article, for filters.
bool FilteredAlike(const Article& a, const Article& b) {
  return a.source == b.source && a.language == b.language &&
         a.thumbnail_url.empty() == b.thumbnail_url.empty() &&
         ToTerms(a.keywords, a.ai_tags) == ToTerms(b.keywords, b.ai_tags);
}

}  // namespace

std::vector<std::string> FeedsOf(const StoredArticle& article, const CategoryPaths& paths) {
  if (article.delete_time) return {};
  std::vector<std::string> categories;
  categories.reserve(article.content.categories.size());
  for (const CategoryLabel& label : article.content.categories) categories.push_back(label.id);
  return FeedsOf(article.content.ns, categories, paths);
}

FeedChange DiffFeeds(const Edit& edit, const std::vector<std::string>& before,
                     const CategoryPaths& paths) {
  const std::vector<std::string> after = FeedsOf(edit.after, paths);
  FeedChange change;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                      std::back_inserter(change.entered));
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                      std::back_inserter(change.left));
  if (!FilteredAlike(edit.before.content, edit.after.content)) {
    std::set_intersection(before.begin(), before.end(), after.begin(), after.end(),
                          std::back_inserter(change.refreshed));
  }
  return change;
}

}  // namespace winnow::newsfeed
