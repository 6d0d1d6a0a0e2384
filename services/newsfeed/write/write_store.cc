#include "services/newsfeed/write/write_store.h"

#include "services/newsfeed/articles/feeds_log_sql.h"
#include "services/newsfeed/articles/known_sql.h"
#include "services/newsfeed/feed/entry_sql.h"
#include "services/newsfeed/feed/feed_membership.h"
#include "services/newsfeed/keywords/keyword_sql.h"
#include "services/newsfeed/search/search_store.h"
#include "services/newsfeed/write/write_store.sql.h"
#include "services/platform/base/embedded_file.h"

// Single articles, and the schema.
namespace winnow::embedded {
extern const std::span<const File> newsfeed_migrations;
}

namespace winnow::newsfeed {
namespace {

// Feeds that have the article now.
std::vector<std::string> FeedsOfStored(pg::Session& session, const StoredArticle& article) {
  return ReadFeeds(session, {article.number})[article.number];
}

Time DeleteStored(pg::LogSession& log, StoredArticle article, LogReceipt& receipt) {
  const Article& content = article.content;
  const Time now = log.arrival_time();
  const std::vector<std::string> feeds = FeedsOfStored(log.session(), article);
  std::vector<Entry> entries;
  for (const std::string& feed : feeds) entries.push_back({feed, &article, 0});
  const Change change{content.ns, content.id, ChangeKind::kDeleted, feeds};
  receipt = AppendChanges(log, {&change, 1});
  DeleteEntries(log.session(), entries);
  DeleteKeywords(log.session(), {&article, 1});
  DeleteSearch(log.session(), {&article, 1});
  log.session().Execute(sql::kDeleteArticle, content.ns, content.id, now);
  return now;
}

void RestoreStored(pg::LogSession& log, StoredArticle& article, LogReceipt& receipt) {
  pg::Session& session = log.session();
  const Article& content = article.content;
  article.delete_time.reset();
  article.update_time = log.arrival_time();
  ++article.revision;
  std::set<ArticleKey> categories;
  CollectCategories(content, categories);
  std::map<std::string, CategoryPaths> paths;
  LoadPaths(session, categories, paths);
  const Change change{content.ns, content.id, ChangeKind::kRestored};
  receipt = AppendChanges(log, {&change, 1});
  session.Execute(sql::kRestoreArticle, content.ns, content.id, article.update_time,
                  article.revision);
  std::vector<Entry> entries;
  for (std::string& feed : FeedsOf(article, paths[content.ns])) {
    entries.push_back({std::move(feed), &article, receipt.first});
  }
  InsertEntries(session, entries);
  InsertKeywords(session, {&article, 1});
  InsertSearch(session, {&article, 1});
}

}  // namespace

pg::Migrations StoreMigrations() { return {"newsfeed", embedded::newsfeed_migrations}; }

StatusOr<Time> WriteStore::Delete(Deadline deadline, const std::string& ns, const std::string& id) {
  LogReceipt receipt;
  Time deleted;
  const auto committed = pg::LogTransaction::Run(
      logs_, FeedsStream(), deadline,
      [&](pg::LogSession& log) -> Status {
        PlanByIndex(log.session());
        std::optional<StoredArticle> article = LoadArticle(log.session(), ns, id);
        if (!article) return NotFound("article", id);
        deleted = article->delete_time ? *article->delete_time
                                       : DeleteStored(log, *std::move(article), receipt);
        return OkStatus();
      },
      [&](pg::Session& session) { return IsCommitted(session, receipt); });
  if (!committed.ok()) return committed.status();
  last_commit_.Raise(committed->head);
  return deleted;
}

StatusOr<StoredArticle> WriteStore::Undelete(Deadline deadline, const std::string& ns,
                                             const std::string& id) {
  LogReceipt receipt;
  StoredArticle restored;
  const auto committed = pg::LogTransaction::Run(
      logs_, FeedsStream(), deadline,
      [&](pg::LogSession& log) -> Status {
        PlanByIndex(log.session());
        std::optional<StoredArticle> article = LoadArticle(log.session(), ns, id);
        if (!article) return NotFound("article", id);
        restored = *std::move(article);
        if (restored.delete_time) RestoreStored(log, restored, receipt);
        return OkStatus();
      },
      [&](pg::Session& session) { return IsCommitted(session, receipt); });
  if (!committed.ok()) return committed.status();
  last_commit_.Raise(committed->head);
  return restored;
}

}  // namespace winnow::newsfeed
