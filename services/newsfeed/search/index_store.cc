#include "services/newsfeed/search/index_store.h"

#include <algorithm>
#include <string>
#include <vector>

#include "services/newsfeed/articles/article_sql.h"
#include "services/newsfeed/articles/feeds_log_sql.h"
#include "services/newsfeed/feed/entry_sql.h"
#include "services/newsfeed/keywords/keyword_sql.h"
#include "services/newsfeed/search/index_rules.h"
#include "services/newsfeed/search/search_store.h"

namespace winnow::newsfeed {
namespace {

constexpr pg::Statement kBegin{
    "newsfeed.begin_index",
    "INSERT INTO newsfeed.index_progress AS p (rules, done_number, is_complete) "
    "VALUES ($1, 0, FALSE) ON CONFLICT (only_row) DO UPDATE SET rules = excluded.rules, "
    "done_number = 0, is_complete = FALSE WHERE p.rules < excluded.rules"};

constexpr pg::Statement kProgress{
    "newsfeed.read_index_progress",
    "SELECT p.rules, p.done_number, p.is_complete FROM newsfeed.index_progress p"};

// What happened after position $1 of the log, at most $2 of it: articles that came (their number is
// that position; they are found also where the log begins later) and that were changed, maybe by a
// process of other rules. Whether each lacks its row of rules $3.
constexpr pg::Statement kLook{
    "newsfeed.look_at_index",
    "SELECT p.seq, a.number, NOT a.is_deleted AND s.rules IS DISTINCT FROM $3::smallint FROM ("
    "(SELECT n.number AS seq, n.namespace, n.id FROM newsfeed.news_articles n "
    "WHERE n.number > (SELECT $1::bigint) ORDER BY n.number LIMIT (SELECT $2::bigint)) UNION ALL "
    "(SELECT l.seq, l.namespace, l.id FROM newsfeed.feed_log l "
    "WHERE l.seq > (SELECT $1::bigint) AND l.change <> 1 "
    "ORDER BY l.seq LIMIT (SELECT $2::bigint)) ORDER BY seq LIMIT (SELECT $2::bigint)) p "
    "CROSS JOIN LATERAL (SELECT a.number, a.namespace, a.published_at, a.id, a.is_deleted "
    "FROM newsfeed.news_articles a WHERE a.namespace = p.namespace AND a.id = p.id LIMIT 1) a "
    "LEFT JOIN LATERAL (SELECT s.rules FROM newsfeed.article_search s "
    "WHERE s.namespace = a.namespace AND s.published_at = a.published_at AND s.id = a.id OFFSET 0) "
    "s ON TRUE ORDER BY p.seq"};

constexpr pg::Statement kAdvance{
    "newsfeed.advance_index",
    "UPDATE newsfeed.index_progress SET done_number = greatest(done_number, $2::bigint), "
    "is_complete = is_complete OR $3::boolean WHERE rules = $1"};

// The keywords that an article has by its entries, by whatever rules.
constexpr pg::Statement kDropKeywords{
    "newsfeed.drop_keywords",
    "DELETE FROM newsfeed.article_keywords k USING (SELECT DISTINCT "
    "split_part(e.feed, '/', 1) AS namespace, t.term, e.publish_time, e.id "
    "FROM unnest($1::bigint[]) AS s (number) CROSS JOIN LATERAL (SELECT e.feed, e.publish_time, "
    "e.id, e.terms FROM newsfeed.feed_entries e WHERE e.article_number = s.number OFFSET 0) e "
    "CROSS JOIN LATERAL unnest(tsvector_to_array(e.terms)) AS t (term)) g "
    "WHERE k.namespace = g.namespace AND k.keyword = g.term AND k.published_at = g.publish_time "
    "AND k.id = g.id"};

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

// Under the lock of the log: nobody changes the articles meanwhile.
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
  session.Execute(kDropKeywords, asked);
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
  const pqxx::result rows = session.Execute(kProgress);
  if (rows.empty() || rows[0][0].as<int>() < kIndexRules) return {};
  return {rows[0][1].as<int64_t>(), rows[0][2].as<bool>()};
}

StatusOr<IndexStore::Look> IndexStore::LookOn(Deadline deadline) {
  WINNOW_RETURN_IF_ERROR(writes_.Statements(deadline, [&](pg::Session& session) {
    session.Execute(kBegin, kIndexRules);
    return OkStatus();
  }));
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Look> {
    Look look;
    const pqxx::result progress = session.Execute(kProgress);
    look.theirs = progress.empty() || progress[0][0].as<int>() != kIndexRules;
    if (look.theirs) return look;
    const int64_t done = progress[0][1].as<int64_t>();
    for (const pqxx::row& row : session.Execute(kLook, done, look_, kIndexRules)) {
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
    session.Execute(kAdvance, kIndexRules, look.last, step.done);
    if (step.done) return step;
    WINNOW_ASSIGN_OR_RETURN(const pg::Head head, pg::ReadHead(session, FeedsStream()));
    step.left = std::max<int64_t>(0, head.head - look.last);
    return step;
  });
}

}  // namespace winnow::newsfeed
