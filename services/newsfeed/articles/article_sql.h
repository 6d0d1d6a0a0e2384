#pragma once

#include <optional>
#include <span>
#include <string>

#include "services/newsfeed/articles/article.h"
#include "services/platform/base/hash.h"
#include "services/platform/postgres/session/session.h"

// Articles as rows of newsfeed.news_articles, and back.
namespace winnow::newsfeed {

// What a page shows of an article beside its key, as columns of the table under the alias `a`, and
// the same read back from the row's columns that begin at `first`.
extern const char kContentColumns[];
StoredArticle ReadContent(const pqxx::row& row, int first, const std::string& ns, FeedKey key);

// Everything that is kept of an article.
const std::string& AllColumns();
StoredArticle ReadAllColumns(const pqxx::row& row);

// One statement each.
void InsertArticles(pg::Session& session, std::span<const StoredArticle> articles);
// All but what identifies the article and what deletion sets.
void UpdateArticles(pg::Session& session, std::span<const StoredArticle> articles);

// A hash as a uuid parameter, and back.
std::string ToUuid(const Hash128Value& hash);
Hash128Value FromUuid(const pqxx::field& field);

// Key of a canonical URL in the unique index; none for an article without one.
std::optional<std::string> UrlKey(const std::string& canonical_url);

Time ToTime(Millis time);

}  // namespace winnow::newsfeed
