#include "services/newsfeed/articles/known_sql.h"

#include "services/newsfeed/articles/article_sql.h"
#include "services/newsfeed/articles/known.sql.h"

namespace winnow::newsfeed {
namespace {

const pg::Statement& LoadArticles() {
  static const std::string sql =
      "SELECT " + AllColumns() +
      " FROM (SELECT a.number FROM unnest($1::text[], $2::text[]) AS s (namespace, id) "
      "CROSS JOIN LATERAL (SELECT a.number FROM newsfeed.news_articles a "
      "WHERE a.namespace = s.namespace AND a.id = s.id LIMIT 1) a UNION "
      "SELECT a.number FROM unnest($3::text[], $4::uuid[]) AS s (namespace, url_key) "
      "CROSS JOIN LATERAL (SELECT a.number FROM newsfeed.news_articles a "
      "WHERE a.namespace = s.namespace AND a.url_key = s.url_key LIMIT 1) a) f "
      "CROSS JOIN LATERAL (SELECT " +
      AllColumns() + " FROM newsfeed.news_articles a WHERE a.number = f.number " + "LIMIT 1) a";
  static const pg::Statement statement{"newsfeed.load_articles", sql.c_str()};
  return statement;
}

const pg::Statement& LoadOneArticle() {
  static const std::string sql =
      "SELECT " + AllColumns() +
      " FROM newsfeed.news_articles a WHERE a.namespace = $1 AND a.id = coalesce("
      "(SELECT l.article_id FROM newsfeed.article_aliases l "
      "WHERE l.namespace = $1 AND l.alias_id = $2), $2)";
  static const pg::Statement statement{"newsfeed.load_article", sql.c_str()};
  return statement;
}

struct Keys {
  pg::Array namespaces;
  pg::Array values;
  void Add(const std::string& ns, const std::string& value) {
    namespaces.Add(ns);
    values.Add(value);
  }
};

std::map<ArticleKey, Alias> ReadAliases(pg::Session& session, const Keys& ids) {
  std::map<ArticleKey, Alias> aliases;
  for (const pqxx::row& row : session.Execute(sql::kLoadAliases, ids.namespaces, ids.values)) {
    Alias alias{row[2].as<std::string>(), FromUuid(row[3])};
    aliases[{row[0].as<std::string>(), row[1].as<std::string>()}] = std::move(alias);
  }
  return aliases;
}

void ReadArticles(pg::Session& session, const Keys& ids, const Keys& urls, Known& known) {
  const pqxx::result rows =
      session.Execute(LoadArticles(), ids.namespaces, ids.values, urls.namespaces, urls.values);
  for (const pqxx::row& row : rows) {
    StoredArticle article = ReadAllColumns(row);
    const Article& content = article.content;
    if (!content.canonical_url.empty()) {
      known.ids_by_url[{content.ns, content.canonical_url}] = content.id;
    }
    known.articles.emplace(ArticleKey{content.ns, content.id}, std::move(article));
  }
}

}  // namespace

void CollectCategories(const Article& article, std::set<ArticleKey>& categories) {
  for (const CategoryLabel& label : article.categories) categories.emplace(article.ns, label.id);
}

void LoadPaths(pg::Session& session, const std::set<ArticleKey>& categories,
               std::map<std::string, CategoryPaths>& paths) {
  if (categories.empty()) return;
  Keys keys;
  for (const auto& [ns, id] : categories) keys.Add(ns, id);
  for (const pqxx::row& row : session.Execute(sql::kLoadPaths, keys.namespaces, keys.values)) {
    paths[row[0].as<std::string>()][row[1].as<std::string>()] = pg::ToTexts(row[2]);
  }
}

std::map<ArticleKey, Alias> LoadAliases(pg::Session& session, const std::set<ArticleKey>& ids) {
  if (ids.empty()) return {};
  Keys keys;
  for (const auto& [ns, id] : ids) keys.Add(ns, id);
  return ReadAliases(session, keys);
}

Known LoadKnown(pg::Session& session, std::span<const Sent> sent) {
  Known known;
  Keys ids;
  Keys urls;
  for (const Sent& item : sent) {
    ids.Add(item.article->ns, item.article->id);
    const auto key = UrlKey(item.article->canonical_url);
    if (key) urls.Add(item.article->ns, *key);
  }
  known.aliases = ReadAliases(session, ids);
  for (const auto& [key, alias] : known.aliases) ids.Add(key.first, alias.article_id);
  ReadArticles(session, ids, urls, known);
  std::set<ArticleKey> categories;
  for (const Sent& item : sent) CollectCategories(*item.article, categories);
  for (const auto& [key, article] : known.articles) CollectCategories(article.content, categories);
  LoadPaths(session, categories, known.paths);
  return known;
}

std::optional<StoredArticle> LoadArticle(pg::Session& session, const std::string& ns,
                                         const std::string& id) {
  const pqxx::result rows = session.Execute(LoadOneArticle(), ns, id);
  if (rows.empty()) return std::nullopt;
  return ReadAllColumns(rows[0]);
}

}  // namespace winnow::newsfeed
