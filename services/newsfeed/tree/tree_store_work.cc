#include <algorithm>
#include <chrono>

#include "services/newsfeed/articles/article_sql.h"
#include "services/newsfeed/articles/feeds_log_sql.h"
#include "services/newsfeed/articles/known_sql.h"
#include "services/newsfeed/feed/entry_sql.h"
#include "services/newsfeed/feed/feed_membership.h"
#include "services/newsfeed/tree/tree_store.h"
#include "services/newsfeed/tree/tree_store_work.sql.h"

// The articles below a category that was moved, or is being deleted: a few at a time into the feeds
// that should show them, out of those that should not.
namespace winnow::newsfeed {
namespace {

// What a caller keeps for its answer.
constexpr std::chrono::milliseconds kSpare(250);

const pg::Statement& ArticlesBelow() {
  static const std::string sql =
      "SELECT " + AllColumns() +
      " FROM (SELECT e.article_number FROM newsfeed.feed_entries e WHERE e.feed = $1 "
      "AND (e.publish_time, e.id) < ($2::timestamptz, $3::text) "
      "ORDER BY e.publish_time DESC, e.id DESC LIMIT $4::bigint) e CROSS JOIN LATERAL (SELECT " +
      AllColumns() + " FROM newsfeed.news_articles a WHERE a.number = e.article_number LIMIT 1) a";
  static const pg::Statement statement{"newsfeed.articles_below", sql.c_str()};
  return statement;
}

// Without the label of a category that is being deleted.
StoredArticle Without(StoredArticle article, const std::string& category, Time now) {
  std::vector<CategoryLabel>& labels = article.content.categories;
  const size_t erased =
      std::erase_if(labels, [&](const CategoryLabel& label) { return label.id == category; });
  if (erased == 0) return article;
  ++article.revision;
  article.update_time = now;
  return article;
}

// One transaction's part.
class Chunk {
 public:
  Chunk(const ArticleKey& category, int size)
      : ns_(category.first), id_(category.second), size_(size) {}

  Status Run(pg::LogSession& log) {
    pg::Session& session = log.session();
    PlanByIndex(session);
    receipt_ = {};
    moved_ = 0;
    const pqxx::result work = session.Execute(sql::kReadTreeWork, ns_, id_);
    done_ = work.empty();
    if (done_) return OkStatus();
    const bool deleting = work[0][3].as<bool>();
    const std::string before =
        work[0][0].as<bool>() ? "infinity" : pg::ToParameter(pg::ToTime(work[0][1]));
    std::vector<Edit> edits;
    for (const pqxx::row& row : session.Execute(ArticlesBelow(), FeedName(ns_, id_), before,
                                                work[0][2].as<std::string>(), size_)) {
      StoredArticle article = ReadAllColumns(row);
      StoredArticle after = deleting ? Without(article, id_, log.arrival_time()) : article;
      edits.push_back({std::move(article), std::move(after)});
    }
    done_ = std::ssize(edits) < size_;
    if (!edits.empty()) MoveOn(log, std::move(edits));
    if (done_) {
      session.Execute(sql::kFinishTreeWork, ns_, id_);
      if (deleting) session.Execute(sql::kDropCategory, ns_, id_);
    }
    return OkStatus();
  }

  StatusOr<bool> IsSettled(pg::Session& session) const { return IsCommitted(session, receipt_); }
  bool done() const { return done_; }
  int64_t moved() const { return moved_; }

 private:
  void MoveOn(pg::LogSession& log, std::vector<Edit> edits) {
    pg::Session& session = log.session();
    const auto last = std::min_element(edits.begin(), edits.end(), [](auto& a, auto& b) {
      return FeedKey{a.before.publish_time, a.before.content.id} <
             FeedKey{b.before.publish_time, b.before.content.id};
    });
    session.Execute(sql::kAdvanceTreeWork, ns_, id_, ToTime(last->before.publish_time),
                    last->before.content.id);
    std::set<ArticleKey> categories;
    std::vector<int64_t> numbers;
    for (const Edit& edit : edits) {
      CollectCategories(edit.after.content, categories);
      numbers.push_back(edit.after.number);
    }
    std::map<std::string, CategoryPaths> paths;
    LoadPaths(session, categories, paths);
    std::map<int64_t, std::vector<std::string>> feeds = ReadFeeds(session, numbers);
    std::vector<Edit> moved;
    std::vector<FeedChange> moves;
    std::vector<Change> changes;
    std::vector<StoredArticle> edited;
    for (Edit& edit : edits) {
      FeedChange move = DiffFeeds(edit, std::move(feeds[edit.after.number]), paths[ns_]);
      const bool relabelled = edit.after.revision != edit.before.revision;
      if (!relabelled && move.entered.empty() && move.left.empty()) continue;
      if (relabelled) edited.push_back(edit.after);
      changes.push_back({ns_, edit.after.content.id, ChangeKind::kEdited, move.left});
      moved.push_back(std::move(edit));
      moves.push_back(std::move(move));
    }
    moved_ = std::ssize(moved);
    receipt_ = AppendChanges(log, changes);
    UpdateArticles(session, edited);
    MoveEntries(session, moved, std::move(moves), receipt_.first);
  }

  const std::string ns_;
  const std::string id_;
  const int size_;
  LogReceipt receipt_;
  bool done_ = false;
  int64_t moved_ = 0;
};

}  // namespace

StatusOr<TreeProgress> TreeStore::Continue(Deadline deadline, const ArticleKey& category) {
  TreeProgress progress;
  while (!progress.done && std::chrono::steady_clock::now() + kSpare < deadline) {
    Chunk chunk(category, chunk_);
    const auto committed = pg::LogTransaction::Run(
        logs_, FeedsStream(), deadline, [&](pg::LogSession& log) { return chunk.Run(log); },
        [&](pg::Session& session) { return chunk.IsSettled(session); });
    if (!committed.ok()) return committed.status();
    last_commit_.Raise(committed->head);
    progress.articles += chunk.moved();
    progress.done = chunk.done();
  }
  return progress;
}

StatusOr<std::vector<ArticleKey>> TreeStore::Unfinished(Deadline deadline) {
  return reads_.Statements(
      deadline, [&](pg::Session& session) -> StatusOr<std::vector<ArticleKey>> {
        std::vector<ArticleKey> keys;
        for (const pqxx::row& row : session.Execute(sql::kUnfinishedTreeWork)) {
          keys.emplace_back(row[0].as<std::string>(), row[1].as<std::string>());
        }
        return keys;
      });
}

}  // namespace winnow::newsfeed
