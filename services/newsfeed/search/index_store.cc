#include "services/newsfeed/search/index_store.h"

#include <algorithm>
#include <string>
#include <vector>

#include "services/newsfeed/articles/article_sql.h"
#include "services/newsfeed/articles/feeds_log_sql.h"
#include "services/newsfeed/feed/entry_sql.h"
#include "services/newsfeed/keywords/keyword_sql.h"
#include "services/newsfeed/search/index_rules.h"
#include "services/newsfeed/search/index_store.sql.h"
#include "services/newsfeed/search/search_store.h"

namespace winnow::newsfeed {
namespace {

const pg::Statement& ArticlesToMake() {
  static const std::string kSql =
      "SELECT " + AllColumns() +
      " FROM unnest($1::bigint[]) AS s (number) CROSS JOIN LATERAL (SELECT " + AllColumns() +
      " FROM newsfeed.news_articles a WHERE a.number = s.number LIMIT 1) a "
      "LEFT JOIN LATERAL (SELECT k.rules FROM newsfeed.article_search k "
      "WHERE k.namespace = a.namespace AND k.published_at = a.published_at AND k.id = a.id "
      "OFFSET 0) k ON TRUE "
      "WHERE a.deleted_at IS NULL AND k.rules IS DISTINCT FROM $2::smallint ORDER BY a.number";
  static const pg::Statement kStatement{"newsfeed.articles_to_index", kSql.c_str()};
  return kStatement;
}

// Under the lock of the log: the articles cannot change meanwhile.
std::vector<StoredArticle> ReadArticles(pg::Session& session, const pg::Array& numbers) {
  std::vector<StoredArticle> articles;
  for (const pqxx::row& row : session.Execute(ArticlesToMake(), numbers, kIndexRules)) {
    articles.push_back(ReadAllColumns(row));
  }
  return articles;
}

void Make(pg::Session& session, const std::vector<StoredArticle>& articles) {
  if (articles.empty()) return;
  std::vector<int64_t> numbers;
  pg::Array asked;
  for (const StoredArticle& article : articles) {
    numbers.push_back(article.number);
    asked.Add(article.number);
  }
  session.Execute(sql::kDropKeywords, asked);
  DeleteKeywords(session, articles);
  InsertKeywords(session, articles);
  DeleteSearch(session, articles);
  InsertSearch(session, articles);
  const std::map<int64_t, std::vector<std::string>> feeds = ReadFeeds(session, numbers);
  std::vector<Entry> entries;
  for (const StoredArticle& article : articles) {
    const auto found = feeds.find(article.number);
    if (found == feeds.end()) continue;
    for (const std::string& feed : found->second) entries.push_back({feed, &article, 0});
  }
  RefreshEntries(session, entries);
}

}  // namespace

// The next part of the way.
struct IndexStore::Look {
  bool theirs = false;          // a later version's rules are at work
  int64_t last = 0;             // position of the last one looked at; 0: there are none
  std::vector<int64_t> wanted;  // numbers of the articles that are to be made again, once each
};

IndexProgress ReadIndexProgress(pg::Session& session) {
  const pqxx::result rows = session.Execute(sql::kReadIndexProgress);
  if (rows.empty() || rows[0][0].as<int>() < kIndexRules) return {};
  return {rows[0][1].as<int64_t>(), rows[0][2].as<bool>()};
}

StatusOr<IndexStore::Look> IndexStore::LookOn(Deadline deadline) {
  WINNOW_RETURN_IF_ERROR(writes_.Statements(deadline, [&](pg::Session& session) {
    session.Execute(sql::kBeginIndex, kIndexRules);
    return OkStatus();
  }));
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Look> {
    Look look;
    const pqxx::result progress = session.Execute(sql::kReadIndexProgress);
    look.theirs = progress.empty() || progress[0][0].as<int>() != kIndexRules;
    if (look.theirs) return look;
    const int64_t done = progress[0][1].as<int64_t>();
    for (const pqxx::row& row : session.Execute(sql::kLookAtIndex, done, look_, kIndexRules)) {
      look.last = row[0].as<int64_t>();
      if (row[2].as<bool>()) look.wanted.push_back(row[1].as<int64_t>());
    }
    std::sort(look.wanted.begin(), look.wanted.end());
    look.wanted.erase(std::unique(look.wanted.begin(), look.wanted.end()), look.wanted.end());
    return look;
  });
}

StatusOr<int64_t> IndexStore::MakeAgain(Deadline deadline, std::span<const int64_t> numbers) {
  pg::Array asked;
  for (const int64_t number : numbers) asked.Add(number);
  int64_t made = 0;
  const auto committed = pg::LogTransaction::Run(
      logs_, FeedsStream(), deadline,
      [&](pg::LogSession& log) {
        PlanByIndex(log.session());
        const std::vector<StoredArticle> articles = ReadArticles(log.session(), asked);
        Make(log.session(), articles);
        made = std::ssize(articles);
        return OkStatus();
      },
      // Nothing stands in the log of it: doing it again changes nothing.
      [](pg::Session&) -> StatusOr<bool> { return false; });
  if (!committed.ok()) return committed.status();
  return made;
}

StatusOr<IndexStep> IndexStore::Continue(Deadline deadline) {
  WINNOW_ASSIGN_OR_RETURN(const Look look, LookOn(deadline));
  IndexStep step;
  step.done = look.theirs || look.last == 0;
  if (look.theirs) return step;
  std::span<const int64_t> rest = look.wanted;
  while (!rest.empty()) {
    const size_t size = std::min(rest.size(), static_cast<size_t>(chunk_));
    WINNOW_ASSIGN_OR_RETURN(const int64_t made, MakeAgain(deadline, rest.first(size)));
    step.articles += made;
    rest = rest.subspan(size);
  }
  return writes_.Statements(deadline, [&](pg::Session& session) -> StatusOr<IndexStep> {
    session.Execute(sql::kAdvanceIndex, kIndexRules, look.last, step.done);
    if (step.done) return step;
    WINNOW_ASSIGN_OR_RETURN(const pg::Head head, pg::ReadHead(session, FeedsStream()));
    step.left = std::max<int64_t>(0, head.head - look.last);
    return step;
  });
}

}  // namespace winnow::newsfeed
