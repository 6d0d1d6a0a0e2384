#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>

#include "services/newsfeed/articles/upsert.h"
#include "services/platform/postgres/session/session.h"

// What is stored of articles that a transaction is about to change. Under the lock of the log.
namespace winnow::newsfeed {

// Everything that PlanUpserts needs for these articles.
Known LoadKnown(pg::Session& session, std::span<const Sent> sent);

// Which of these ids were merged, and into what.
std::map<ArticleKey, Alias> LoadAliases(pg::Session& session, const std::set<ArticleKey>& ids);

// The article of an id or of one that was merged into it, deleted or not; nothing when unknown.
std::optional<StoredArticle> LoadArticle(pg::Session& session, const std::string& ns,
                                         const std::string& id);

// Adds the paths of the categories (namespace, id) that exist.
void LoadPaths(pg::Session& session, const std::set<ArticleKey>& categories,
               std::map<std::string, CategoryPaths>& paths);

// (namespace, id) of the categories of an article.
void CollectCategories(const Article& article, std::set<ArticleKey>& categories);

}  // namespace winnow::newsfeed
