#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/newsfeed/articles/article.h"
#include "services/newsfeed/articles/upsert.h"
#include "services/newsfeed/keywords/keywords.h"
#include "services/platform/postgres/session/session.h"

// Rows of newsfeed.article_keywords: the articles of each keyword, in the order of the feeds. The
// other way round the keywords stand in the article's own row.
namespace winnow::newsfeed {

std::vector<std::string> TermsOf(const Article& article);

// One statement each.
void InsertKeywords(pg::Session& session, std::span<const StoredArticle> articles);
void DeleteKeywords(pg::Session& session, std::span<const StoredArticle> articles);
// Where the keywords of an edit differ.
void ReplaceKeywords(pg::Session& session, std::span<const Edit> edits);

// A keyword whose articles include all that pass an alternative, and the bits that they have.
struct KeywordDriver {
  std::string term;
  int64_t mask = 0;
};

// For each alternative the rarest of its keywords; nothing when one names none that must be there.
std::optional<std::vector<KeywordDriver>> FindDrivers(pg::Session& session, const std::string& ns,
                                                      const KeywordExpression& expression);

}  // namespace winnow::newsfeed
