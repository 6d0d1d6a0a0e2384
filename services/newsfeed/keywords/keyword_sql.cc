#include "services/newsfeed/keywords/keyword_sql.h"

#include <algorithm>
#include <bit>

#include "services/newsfeed/articles/article_sql.h"
#include "services/newsfeed/keywords/keyword.sql.h"

namespace winnow::newsfeed {
namespace {

struct Keys {
  pg::Array namespaces, keywords, times, ids, signatures;
  bool empty = true;

  void Add(const StoredArticle& article) {
    const std::vector<std::string> terms = TermsOf(article.content);
    const auto signature = std::bit_cast<int64_t>(SignatureOf(terms));
    for (const std::string& term : terms) {
      namespaces.Add(article.content.ns);
      keywords.Add(term);
      times.Add(ToTime(article.publish_time));
      ids.Add(article.content.id);
      signatures.Add(signature);
      empty = false;
    }
  }
};

void Insert(pg::Session& session, const Keys& keys) {
  if (keys.empty) return;
  session.Execute(sql::kInsertKeywords, keys.namespaces, keys.keywords, keys.times, keys.ids,
                  keys.signatures);
}

void Delete(pg::Session& session, const Keys& keys) {
  if (keys.empty) return;
  session.Execute(sql::kDeleteKeywords, keys.namespaces, keys.keywords, keys.times, keys.ids);
}

}  // namespace

std::vector<std::string> TermsOf(const Article& article) {
  return ToTerms(article.keywords, article.ai_tags);
}

void InsertKeywords(pg::Session& session, std::span<const StoredArticle> articles) {
  Keys keys;
  for (const StoredArticle& article : articles) keys.Add(article);
  Insert(session, keys);
}

void DeleteKeywords(pg::Session& session, std::span<const StoredArticle> articles) {
  Keys keys;
  for (const StoredArticle& article : articles) keys.Add(article);
  Delete(session, keys);
}

void ReplaceKeywords(pg::Session& session, std::span<const Edit> edits) {
  Keys gone;
  Keys come;
  for (const Edit& edit : edits) {
    if (edit.after.delete_time) continue;  // it is in no feed
    if (TermsOf(edit.before.content) == TermsOf(edit.after.content)) continue;
    gone.Add(edit.before);
    come.Add(edit.after);
  }
  Delete(session, gone);
  Insert(session, come);
}

std::optional<std::vector<KeywordDriver>> FindDrivers(pg::Session& session, const std::string& ns,
                                                      const KeywordExpression& expression) {
  pg::Array asked;
  bool several = false;
  for (const KeywordAlternative& one : expression) {
    if (one.all.empty()) return std::nullopt;
    several |= one.all.size() > 1;
    for (const std::string& term : one.all) asked.Add(term);
  }
  std::vector<int64_t> counts;
  if (several) {
    for (const pqxx::row& row : session.Execute(sql::kCountKeywords, ns, asked)) {
      counts.push_back(row[0].as<int64_t>());
    }
  }
  std::vector<KeywordDriver> drivers;
  auto count = counts.begin();
  for (const KeywordAlternative& one : expression) {
    size_t rarest = 0;
    if (several) {
      const auto end = count + static_cast<std::ptrdiff_t>(one.all.size());
      rarest = static_cast<size_t>(std::min_element(count, end) - count);
      count = end;
    }
    drivers.push_back({one.all[rarest], std::bit_cast<int64_t>(SignatureOf(one.all))});
  }
  return drivers;
}

}  // namespace winnow::newsfeed
