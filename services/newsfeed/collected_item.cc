#include "services/newsfeed/collected_item.h"

#include <algorithm>

#include "services/newsfeed/categories.h"

namespace winnow::newsfeed {
namespace {

constexpr char kRule[] = "source category";

}  // namespace

std::set<ArticleKey> NamedCategories(const CollectedItem& item) {
  std::set<ArticleKey> named;
  for (const std::string& category : item.source_categories) {
    std::string slug = ToSlug(category);
    if (!slug.empty() && !IsBuiltInFeed(slug)) named.emplace(item.ns, std::move(slug));
  }
  return named;
}

Article ToArticle(CollectedItem item, const std::set<ArticleKey>& existing) {
  Article article;
  for (const ArticleKey& category : NamedCategories(item)) {
    if (article.categories.size() == kMaxCategories) break;
    if (existing.contains(category)) article.categories.push_back({category.second, kRule, 1});
  }
  article.ns = std::move(item.ns);
  article.id = std::move(item.id);
  article.url = std::move(item.url);
  article.title = std::move(item.title);
  article.snippet = std::move(item.snippet);
  article.source = std::move(item.channel);
  article.source_name = std::move(item.source_name);
  article.thumbnail_url = std::move(item.image_url);
  article.video_url = std::move(item.video_url);
  article.language = std::move(item.language);
  article.keywords = std::move(item.keywords);
  std::erase(article.keywords, "");
  article.publish_time = item.publish_time.value_or(item.arrival_time);
  return article;
}

}  // namespace winnow::newsfeed
