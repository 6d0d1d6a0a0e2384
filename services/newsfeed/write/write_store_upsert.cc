#include <algorithm>

#include "services/newsfeed/articles/article_sql.h"
#include "services/newsfeed/articles/feeds_log_sql.h"
#include "services/newsfeed/articles/known_sql.h"
#include "services/newsfeed/feed/entry_sql.h"
#include "services/newsfeed/feed/feed_membership.h"
#include "services/newsfeed/keywords/keyword_sql.h"
#include "services/newsfeed/search/search_store.h"
#include "services/newsfeed/write/citation_sql.h"
#include "services/newsfeed/write/stats_store.h"
#include "services/newsfeed/write/write_store.h"
#include "services/newsfeed/write/write_store_upsert.sql.h"

// Storing articles. What is sent again unchanged is recognised first and costs no place in the log;
// the rest goes through it in transactions short enough for others to get their turn.
namespace winnow::newsfeed {
namespace {

using Results = std::vector<StatusOr<Upserted>>;

void WriteSeen(pg::Session& session, const std::set<ArticleKey>& seen, Time now) {
  if (seen.empty()) return;
  pg::Array namespaces;
  pg::Array ids;
  for (const auto& [ns, id] : seen) {
    namespaces.Add(ns);
    ids.Add(id);
  }
  session.Execute(sql::kSeen, namespaces, ids, now);
}

// Answers what is unchanged; gives back the rest.
std::vector<size_t> AnswerUnchanged(pg::Session& session, std::span<const Sent> sent,
                                    Results& results, std::set<ArticleKey>& seen) {
  pg::Array namespaces;
  pg::Array ids;
  pg::Array hashes;
  for (const Sent& item : sent) {
    namespaces.Add(item.article->ns);
    ids.Add(item.article->id);
    hashes.Add(ToUuid(ContentHash(*item.article)));
  }
  std::vector<bool> answered(sent.size());
  for (const pqxx::row& row : session.Execute(sql::kFindUnchanged, namespaces, ids, hashes)) {
    const size_t i = row[0].as<size_t>() - 1;
    const Article& article = *sent[i].article;
    std::string id = row[1].as<std::string>();
    const auto outcome = id == article.id ? UpsertOutcome::kUnchanged : UpsertOutcome::kMerged;
    seen.emplace(article.ns, id);
    results[i] = Upserted{std::move(id), outcome, row[2].as<int64_t>()};
    answered[i] = true;
  }
  std::vector<size_t> rest;
  for (size_t i = 0; i < sent.size(); ++i) {
    if (!answered[i]) rest.push_back(i);
  }
  return rest;
}

void WriteAliases(pg::Session& session, const std::map<ArticleKey, Alias>& aliases) {
  if (aliases.empty()) return;
  pg::Array namespaces;
  pg::Array alias_ids;
  pg::Array article_ids;
  pg::Array hashes;
  for (const auto& [key, alias] : aliases) {
    namespaces.Add(key.first);
    alias_ids.Add(key.second);
    article_ids.Add(alias.article_id);
    hashes.Add(ToUuid(alias.sent_hash));
  }
  session.Execute(sql::kWriteAliases, namespaces, alias_ids, article_ids, hashes);
}

const CategoryPaths& PathsOf(const std::map<std::string, CategoryPaths>& paths,
                             const Article& article) {
  static const CategoryPaths none;
  const auto found = paths.find(article.ns);
  return found == paths.end() ? none : found->second;
}

// What the edits of a plan mean for the feeds, one for one.
std::vector<FeedChange> DiffFeeds(pg::Session& session, const UpsertPlan& plan,
                                  const std::map<std::string, CategoryPaths>& paths) {
  std::vector<int64_t> numbers;
  for (const Edit& edit : plan.edited) numbers.push_back(edit.after.number);
  std::map<int64_t, std::vector<std::string>> feeds = ReadFeeds(session, numbers);
  std::vector<FeedChange> changes;
  changes.reserve(plan.edited.size());
  for (const Edit& edit : plan.edited) {
    changes.push_back(
        DiffFeeds(edit, feeds[edit.after.number], PathsOf(paths, edit.after.content)));
  }
  return changes;
}

// The changes of a plan: created articles first, in the order they were sent.
std::vector<Change> ChangesOf(const UpsertPlan& plan, const std::vector<FeedChange>& moves) {
  std::vector<Change> changes;
  changes.reserve(plan.created.size() + plan.edited.size());
  for (const StoredArticle& article : plan.created) {
    changes.push_back({article.content.ns, article.content.id, ChangeKind::kCreated});
  }
  for (size_t i = 0; i < moves.size(); ++i) {
    const Article& article = plan.edited[i].after.content;
    changes.push_back({article.ns, article.id, ChangeKind::kEdited, moves[i].left});
  }
  return changes;
}

void WriteEntries(pg::Session& session, const UpsertPlan& plan, std::vector<FeedChange> moves,
                  const std::map<std::string, CategoryPaths>& paths, int64_t first_edit) {
  MoveEntries(session, plan.edited, std::move(moves), first_edit);
  std::vector<Entry> entered;
  for (const StoredArticle& article : plan.created) {
    for (std::string& feed : FeedsOf(article, PathsOf(paths, article.content))) {
      entered.push_back({std::move(feed), &article, article.number});
    }
  }
  InsertEntries(session, entered);
}

// One transaction's part of a batch.
class Transaction {
 public:
  Transaction(std::vector<Sent> sent, Time latest) : sent_(std::move(sent)), latest_(latest) {}

  Status Run(pg::LogSession& log) {
    started_ = std::chrono::steady_clock::now();
    pg::Session& session = log.session();
    PlanByIndex(session);
    Known known = LoadKnown(session, sent_);
    const std::map<std::string, CategoryPaths> paths = known.paths;
    plan_ = PlanUpserts(sent_, std::move(known), latest_, log.arrival_time());
    std::vector<FeedChange> moves = DiffFeeds(session, plan_, paths);
    receipt_ = AppendChanges(log, ChangesOf(plan_, moves));
    int64_t number = receipt_.first;
    for (StoredArticle& article : plan_.created) article.number = number++;
    CountCitations(session, plan_.created);
    // Edits first: they may free the URLs of what is created.
    std::vector<StoredArticle> edited;
    for (const Edit& edit : plan_.edited) edited.push_back(edit.after);
    UpdateArticles(session, edited);
    InsertArticles(session, plan_.created);
    ReplaceKeywords(session, plan_.edited);
    InsertKeywords(session, plan_.created);
    ReplaceSearch(session, plan_.edited);
    InsertSearch(session, plan_.created);
    CountArticles(log, plan_.created);
    WriteAliases(session, plan_.aliases);
    WriteEntries(session, plan_, std::move(moves), paths, number);
    MoveCitations(log, plan_);
    WriteSeen(session, {plan_.seen.begin(), plan_.seen.end()}, log.arrival_time());
    return OkStatus();
  }

  StatusOr<bool> IsSettled(pg::Session& session) const { return IsCommitted(session, receipt_); }
  std::chrono::steady_clock::duration held() const {
    return std::chrono::steady_clock::now() - started_;
  }
  Results TakeResults() && { return std::move(plan_.results); }

 private:
  const std::vector<Sent> sent_;
  const Time latest_;
  UpsertPlan plan_;
  LogReceipt receipt_;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace

StatusOr<std::vector<StatusOr<Upserted>>> WriteStore::Upsert(Deadline deadline,
                                                             std::span<const Sent> sent) {
  Results results(sent.size(), Internal("not answered"));
  std::set<ArticleKey> seen;
  WINNOW_ASSIGN_OR_RETURN(
      const std::vector<size_t> rest,
      writes_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::vector<size_t>> {
        seen.clear();
        return AnswerUnchanged(session, sent, results, seen);
      }));
  const Time now = clock_.Now();
  if (!seen.empty()) {
    WINNOW_RETURN_IF_ERROR(writes_.Statements(deadline, [&](pg::Session& session) {
      WriteSeen(session, seen, now);
      return OkStatus();
    }));
  }
  for (size_t begin = 0; begin < rest.size();) {
    const size_t end = std::min(rest.size(), begin + log_batch_.size());
    std::vector<Sent> part;
    for (size_t i = begin; i < end; ++i) part.push_back(sent[rest[i]]);
    Transaction transaction(std::move(part), now + options_.max_future);
    const auto committed = pg::LogTransaction::Run(
        logs_, FeedsStream(), deadline, [&](pg::LogSession& log) { return transaction.Run(log); },
        [&](pg::Session& session) { return transaction.IsSettled(session); });
    if (!committed.ok()) return committed.status();
    last_commit_.Raise(committed->head);
    log_batch_.Learn(end - begin, transaction.held());
    Results answers = std::move(transaction).TakeResults();
    for (size_t i = begin; i < end; ++i) results[rest[i]] = std::move(answers[i - begin]);
    begin = end;
  }
  return results;
}

}  // namespace winnow::newsfeed
