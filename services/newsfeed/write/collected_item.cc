#include "services/newsfeed/write/collected_item.h"

#include <algorithm>

#include "services/newsfeed/articles/category.h"

namespace winnow::newsfeed {
namespace {

constexpr char kRule[] = "source category";

// Categories that the item's source names, as ids would be written.
std::set<std::string> OfSource(const CollectedItem& item, const CategoryRules& rules) {
  std::set<std::string> slugs;
  for (const std::string& category : item.source_categories) {
    if (rules.IsPlaceholder(category)) continue;
    std::string slug = ToSlug(category);
    if (!slug.empty() && !IsBuiltInFeed(slug)) slugs.insert(std::move(slug));
  }
  return slugs;
}

}  // namespace

std::set<ArticleKey> NamedCategories(const CollectedItem& item, const CategoryRules& rules) {
  std::set<ArticleKey> named;
  for (const std::string& slug : OfSource(item, rules)) named.emplace(item.ns, slug);
  for (const RuleCategory& category : rules.categories()) named.emplace(item.ns, category.id);
  return named;
}

void AddRuleLabels(const CategoryRules& rules, const std::set<ArticleKey>& existing,
                   const std::vector<std::string>& vendor_categories, Article& article) {
  std::vector<std::string> keywords = article.keywords;
  keywords.insert(keywords.end(), article.ai_tags.begin(), article.ai_tags.end());
  const RuleInput input{article.title, article.snippet, &keywords, &vendor_categories};
  std::vector<CategoryLabel>& labels = article.categories;
  for (CategoryLabel& found : rules.Categorize(input)) {
    if (!existing.contains({article.ns, found.id})) continue;
    const auto known = std::find_if(labels.begin(), labels.end(),
                                    [&](const CategoryLabel& own) { return own.id == found.id; });
    if (known == labels.end()) {
      if (labels.size() < kMaxCategories) labels.push_back(std::move(found));
    } else if (known->score < found.score) {
      *known = std::move(found);
    }
  }
}

Article ToArticle(CollectedItem item, const CategoryRules& rules,
                  const std::set<ArticleKey>& existing) {
  Article article;
  for (const std::string& slug : OfSource(item, rules)) {
    if (article.categories.size() == kMaxCategories) break;
    if (existing.contains({item.ns, slug})) article.categories.push_back({slug, kRule, 1});
  }
  const std::vector<std::string> vendor_categories = std::move(item.source_categories);
  article.ns = std::move(item.ns);
  article.id = std::move(item.id);
  article.url = std::move(item.url);
  article.title = std::move(item.title);
  article.snippet = std::move(item.snippet);
  article.source = std::move(item.channel);
  article.source_name = std::move(item.source_name);
  article.source_icon_url = std::move(item.source_icon_url);
  article.thumbnail_url = std::move(item.image_url);
  article.video_url = std::move(item.video_url);
  article.language = std::move(item.language);
  article.keywords = std::move(item.keywords);
  article.ai_tags = std::move(item.ai_tags);
  for (std::vector<std::string>* words : {&article.keywords, &article.ai_tags}) {
    std::erase_if(
        *words, [&](const std::string& word) { return word.empty() || rules.IsPlaceholder(word); });
  }
  article.publish_time = item.publish_time.value_or(item.arrival_time);
  AddRuleLabels(rules, existing, vendor_categories, article);
  return article;
}

}  // namespace winnow::newsfeed
