#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "services/newsfeed/articles/article.h"
#include "services/newsfeed/articles/upsert.h"
#include "services/newsfeed/labels/category_rules.h"

// Items of the collector, and the articles they become.
namespace winnow::newsfeed {

struct CollectedItem {
  std::string id;
  std::string ns;
  std::string channel;
  std::string url;
  std::string title;
  std::string snippet;
  std::string language;
  std::string source_name;
  std::string source_icon_url;
  std::string image_url;
  std::string video_url;
  std::vector<std::string> source_categories;
  std::vector<std::string> keywords;
  std::vector<std::string> ai_tags;
  std::optional<Time> publish_time;
  Time arrival_time;
};

// Categories that the item's source or the rules may name, as (namespace, id); they need not exist.
std::set<ArticleKey> NamedCategories(const CollectedItem& item, const CategoryRules& rules);

// Adds what the rules find, of categories that exist; where the article is in one already, the
// higher score stays.
void AddRuleLabels(const CategoryRules& rules, const std::set<ArticleKey>& existing,
                   const std::vector<std::string>& vendor_categories, Article& article);

// The article of an item: in those categories that its source names or the rules find and that
// exist, else in none. Its id is the item's, its source the channel.
Article ToArticle(CollectedItem item, const CategoryRules& rules,
                  const std::set<ArticleKey>& existing);

}  // namespace winnow::newsfeed
