#include "services/newsfeed/articles/article_store.h"

#include "services/newsfeed/articles/article_sql.h"
#include "services/newsfeed/articles/feeds_log_sql.h"
#include "services/newsfeed/articles/known_sql.h"

namespace winnow::newsfeed {
namespace {

const pg::Statement& GetArticles() {
  static const std::string sql =
      "SELECT " + AllColumns() +
      ", s.i FROM unnest($2::text[]) WITH ORDINALITY AS s (id, i) CROSS JOIN LATERAL (SELECT " +
      AllColumns() +
      " FROM newsfeed.news_articles a WHERE a.namespace = (SELECT $1::text) "
      "AND a.id = coalesce((SELECT l.article_id FROM newsfeed.article_aliases l "
      "WHERE l.namespace = (SELECT $1::text) AND l.alias_id = s.id), s.id) LIMIT 1) a "
      "WHERE a.deleted_at IS NULL";
  static const pg::Statement statement{"newsfeed.get_articles", sql.c_str()};
  return statement;
}

const pg::Statement& LookUp() {
  static const std::string sql = "SELECT " + AllColumns() +
                                 " FROM newsfeed.news_articles a WHERE a.namespace = $1 "
                                 "AND a.url_key = $2::uuid AND a.is_deleted = FALSE";
  static const pg::Statement statement{"newsfeed.look_up_article", sql.c_str()};
  return statement;
}

}  // namespace

StatusOr<StoredArticle> ArticleStore::Get(Deadline deadline, const std::string& ns,
                                          const std::string& id) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<StoredArticle> {
    std::optional<StoredArticle> article = LoadArticle(session, ns, id);
    if (!article || article->delete_time) return NotFound("article", id);
    return *std::move(article);
  });
}

StatusOr<std::vector<std::optional<StoredArticle>>> ArticleStore::BatchGet(
    Deadline deadline, const std::string& ns, const std::vector<std::string>& ids) {
  using Found = std::vector<std::optional<StoredArticle>>;
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Found> {
    pg::Array asked;
    for (const std::string& id : ids) asked.Add(id);
    Found found(ids.size());
    for (const pqxx::row& row : session.Execute(GetArticles(), ns, asked)) {
      found.at(row[row.size() - 1].as<size_t>() - 1) = ReadAllColumns(row);
    }
    return found;
  });
}

StatusOr<StoredArticle> ArticleStore::LookUp(Deadline deadline, const std::string& ns,
                                             const std::string& canonical_url) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<StoredArticle> {
    const pqxx::result rows = session.Execute(newsfeed::LookUp(), ns, UrlKey(canonical_url));
    if (rows.empty()) return NotFound("article", canonical_url);
    return ReadAllColumns(rows[0]);
  });
}

}  // namespace winnow::newsfeed
