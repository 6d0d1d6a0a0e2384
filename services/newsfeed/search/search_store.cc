#include "services/newsfeed/search/search_store.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "services/newsfeed/articles/article_sql.h"
#include "services/newsfeed/search/index_rules.h"
#include "services/newsfeed/search/search_store.sql.h"

namespace winnow::newsfeed {
namespace {

// The newest articles that are looked at before the index is: what is common is among them, and the
// index would have to collect all that it is in.
constexpr int kLookedAt = 2'000;
// Where these have a quarter of a page, some times as many have a whole one, most likely: quicker
// than to collect thousands by the index.
constexpr int kLookedFurther = 5;
// Times that candidates without the terms (pairs that do not stand together) are replaced by
// others; then the page is short, and has a token.
constexpr int kMaxRounds = 10;

constexpr char kBelow[] =
    "s.namespace = (SELECT $1::text) AND (s.published_at, s.id) < ((SELECT $2::timestamptz), "
    "(SELECT $3::text)) ";
constexpr char kNewestFirst[] = "ORDER BY s.published_at DESC, s.id DESC ";

// $1 namespace, $2 and $3 the key below which it begins, $4 grams, $5 rows wanted; of `found`
// (published_at, id, article_number), newest first.
std::string Page(const std::string& found) {
  return "SELECT s.published_at, s.id, " + std::string(kContentColumns) + " FROM (" + found +
         ") s CROSS JOIN LATERAL (SELECT " + kContentColumns +
         " FROM newsfeed.news_articles a WHERE a.number = s.article_number OFFSET 0) a " +
         kNewestFirst;
}

// Among the newest $6 rows.
const pg::Statement& ByKey() {
  static const std::string kSql = Page(
      "SELECT s.published_at, s.id, s.article_number FROM (SELECT s.published_at, s.id, "
      "s.article_number, s.grams FROM newsfeed.article_search s WHERE " +
      std::string(kBelow) + kNewestFirst +
      "LIMIT (SELECT $6::bigint)) s WHERE s.grams @> $4::int[] " + kNewestFirst +
      "LIMIT (SELECT $5::bigint)");
  static const pg::Statement kStatement{"newsfeed.search_by_key", kSql.c_str()};
  return kStatement;
}

const pg::Statement& ByGrams() {
  static const std::string kSql =
      "WITH m AS MATERIALIZED (SELECT s.published_at, s.id, s.article_number "
      "FROM newsfeed.article_search s WHERE s.grams @> (SELECT $4::int[]) AND " +
      std::string(kBelow) + ") " +
      Page("SELECT s.published_at, s.id, s.article_number FROM m s " + std::string(kNewestFirst) +
           "LIMIT (SELECT $5::bigint)");
  static const pg::Statement kStatement{"newsfeed.search_by_grams", kSql.c_str()};
  return kStatement;
}

std::string Literal(const std::vector<int32_t>& grams) {
  pg::Array array;
  for (const int32_t gram : grams) array.Add(gram);
  return array.ToString();
}

// One search, page by page of candidates.
class Searching {
 public:
  Searching(pg::Session& session, const SearchQuery& query)
      : session_(session),
        query_(query),
        grams_(GramsOf(query.ns, query.terms)),
        before_(query.before) {}

  bool by_grams() const { return by_grams_; }
  int looked_at() const { return looked_at_; }

  SearchPage Run() {
    for (int round = 0; round < kMaxRounds; ++round) {
      const pqxx::result rows = Candidates();
      looked_at_ += static_cast<int>(rows.size());
      for (const pqxx::row& row : rows) {
        if (Take(row)) return std::move(page_);
      }
      if (rows.size() < Wanted()) return std::move(page_);  // the end
    }
    page_.next = before_;
    return std::move(page_);
  }

 private:
  size_t Wanted() const { return static_cast<size_t>(query_.page_size) + 1; }

  pqxx::result Candidates() {
    const std::string time =
        before_ ? pg::ToParameter(ToTime(before_->publish_time)) : std::string("infinity");
    const std::string id = before_ ? before_->id : std::string();
    const std::string grams = Literal(grams_);
    if (!by_grams_) {
      const int looked_at = kLookedAt / static_cast<int>(std::min<size_t>(grams_.size(), 8));
      pqxx::result rows =
          session_.Execute(ByKey(), query_.ns, time, id, grams, Wanted(), looked_at);
      if (rows.size() < Wanted() && 4 * rows.size() >= Wanted()) {
        rows = session_.Execute(ByKey(), query_.ns, time, id, grams, Wanted(),
                                looked_at * kLookedFurther);
      }
      if (rows.size() == Wanted()) return rows;
      by_grams_ = true;
    }
    return session_.Execute(ByGrams(), query_.ns, time, id, grams, Wanted());
  }

  // Whether the page is full and it is known that there are more.
  bool Take(const pqxx::row& row) {
    FeedKey key{ToMillis(pg::ToTime(row[0])), row[1].as<std::string>()};
    before_ = key;
    StoredArticle article = ReadContent(row, 2, query_.ns, std::move(key));
    if (!HasTerms(query_.terms, article.content.title, article.content.snippet)) return false;
    if (page_.articles.size() == static_cast<size_t>(query_.page_size)) {
      const StoredArticle& last = page_.articles.back();
      page_.next = FeedKey{last.publish_time, last.content.id};
      return true;
    }
    page_.articles.push_back(std::move(article));
    return false;
  }

  pg::Session& session_;
  const SearchQuery& query_;
  const std::vector<int32_t> grams_;
  std::optional<FeedKey> before_;
  bool by_grams_ = false;
  int looked_at_ = 0;  // candidates
  SearchPage page_;
};

Counter& Searches(Metrics& metrics, const char* by) {
  return metrics.GetCounter("winnow_newsfeed_searches_total",
                            "Pages of searches, by what found them: the newest articles, or the "
                            "index of words as well.",
                            {{"by", by}});
}

struct Rows {
  pg::Array namespaces, times, ids, numbers, grams;
  bool empty = true;

  void Add(const StoredArticle& article) {
    const Article& content = article.content;
    namespaces.Add(content.ns);
    times.Add(ToTime(article.publish_time));
    ids.Add(content.id);
    numbers.Add(article.number);
    grams.Add(Literal(GramsOf(content.ns, content.title, content.snippet)));
    empty = false;
  }
};

void Insert(pg::Session& session, const Rows& rows) {
  if (rows.empty) return;
  session.Execute(sql::kInsertSearch, rows.namespaces, rows.times, rows.ids, rows.numbers,
                  rows.grams, kIndexRules);
}

void Delete(pg::Session& session, const Rows& rows) {
  if (!rows.empty) session.Execute(sql::kDeleteSearch, rows.namespaces, rows.times, rows.ids);
}

}  // namespace

void InsertSearch(pg::Session& session, std::span<const StoredArticle> articles) {
  Rows rows;
  for (const StoredArticle& article : articles) rows.Add(article);
  Insert(session, rows);
}

void DeleteSearch(pg::Session& session, std::span<const StoredArticle> articles) {
  Rows rows;
  for (const StoredArticle& article : articles) rows.Add(article);
  Delete(session, rows);
}

void ReplaceSearch(pg::Session& session, std::span<const Edit> edits) {
  Rows rows;
  for (const Edit& edit : edits) {
    const Article& before = edit.before.content;
    const Article& after = edit.after.content;
    if (edit.after.delete_time) continue;  // it is not found
    if (before.title == after.title && before.snippet == after.snippet) continue;
    rows.Add(edit.after);
  }
  Delete(session, rows);
  Insert(session, rows);
}

SearchStore::SearchStore(pg::Pool& reads, pg::Pool& writes, Metrics& metrics)
    : reads_(reads),
      writes_(writes),
      by_newest_(Searches(metrics, "newest")),
      by_index_(Searches(metrics, "index")),
      candidates_(metrics.GetCounter("winnow_newsfeed_search_candidates_total",
                                     "Articles that searches read and looked through.")) {}

StatusOr<SearchPage> SearchStore::Search(Deadline deadline, const SearchQuery& query) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<SearchPage> {
    Searching searching(session, query);
    SearchPage page = searching.Run();
    (searching.by_grams() ? by_index_ : by_newest_).Increment();
    candidates_.Increment(searching.looked_at());
    return page;
  });
}

StatusOr<int64_t> SearchStore::MergeWords(Deadline deadline) {
  return writes_.Statements(deadline, [](pg::Session& session) -> StatusOr<int64_t> {
    return session.Execute(sql::kMergeSearch)[0][0].as<int64_t>();
  });
}

}  // namespace winnow::newsfeed
