#include "services/newsfeed/feed/feed_store.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "services/newsfeed/articles/article_sql.h"
#include "services/newsfeed/articles/category.h"
#include "services/newsfeed/feed/feed_sql.h"
#include "services/newsfeed/feed/feed_store.sql.h"
#include "services/newsfeed/keywords/keyword_sql.h"

// Reading feeds.
namespace winnow::newsfeed {
namespace {

constexpr int64_t kNoBound = std::numeric_limits<int64_t>::max();
// 9999-12-31T23:59:59.999Z: no article is published later.
constexpr Time kLastTime{Micros(253'402'300'799'999'000)};

struct Row {
  bool hit = true;
  FeedKey key;
  pqxx::row row;  // of a hit: its article, read only when it is on the page
};

struct Answer {
  int64_t head = 0;
  std::string epoch;
  std::optional<Time> changed_at;
  std::optional<Time> created_at;
  int64_t tree_revision = 0;
  bool overflow = false;
  std::vector<Row> rows;
};

void ReadState(const pqxx::row& row, const std::string& epoch, Answer& answer) {
  if (!row[kHead].is_null()) {  // else the log is empty
    answer.head = row[kHead].as<int64_t>();
    answer.epoch = epoch;
  }
  answer.changed_at = pg::ToOptionalTime(row[kChangedAt]);
  answer.created_at = pg::ToOptionalTime(row[kCreatedAt]);
  if (!row[kTreeRevision].is_null()) answer.tree_revision = row[kTreeRevision].as<int64_t>();
  answer.overflow = row[kOverflow].as<bool>();
}

Answer ReadAnswer(const pqxx::result& result, const std::string& epoch) {
  Answer answer;
  answer.rows.reserve(result.size());
  for (const pqxx::row& row : result) {
    const int kind = row[kKind].as<int>();
    if (kind == kStateRow) {
      ReadState(row, epoch, answer);
      continue;
    }
    FeedKey key{ToMillis(pg::ToTime(row[kKeyTime])), row[kKeyId].as<std::string>()};
    answer.rows.push_back({kind == kHitRow, std::move(key), row});
  }
  return answer;
}

// The key order is promised by no join of SQL's, though kept by PostgreSQL's.
void Sort(std::vector<Row>& rows) {
  const auto newer = [](const Row& a, const Row& b) {
    return a.key != b.key ? a.key > b.key : a.hit && !b.hit;
  };
  if (!std::is_sorted(rows.begin(), rows.end(), newer)) {
    std::sort(rows.begin(), rows.end(), newer);
  }
}

std::vector<std::string> Distinct(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts;
}

std::optional<pg::Array> ToArray(const std::vector<std::string>& texts) {
  if (texts.empty()) return std::nullopt;
  pg::Array array;
  for (const std::string& text : Distinct(texts)) array.Add(text);
  return array;
}

std::optional<std::string> ToQuery(const KeywordExpression& keywords) {
  if (keywords.empty()) return std::nullopt;
  return ToQueryText(keywords);
}

// A query with its watermark decided: one statement, or two when the newer feed has outgrown
// sorting.
class Reading {
 public:
  Reading(const FeedQuery& query, int64_t since, int64_t until)
      : query_(query), since_(since), until_(until) {}

  Answer Read(pg::Session& session) const {
    if (since_ > 0) {
      Answer answer = Run(session, PageBySeq(), query_.scan_limit);
      if (!answer.overflow) return answer;
    }
    const FeedFilter& filter = query_.filter;
    if (const auto drivers = Drivers(session)) return RunByKeyword(session, *drivers);
    if (!filter.sources.empty()) {
      return Run(session, PageBySource(), Share(Distinct(filter.sources).size()));
    }
    if (!filter.languages.empty()) {
      return Run(session, PageByLanguage(), Share(Distinct(filter.languages).size()));
    }
    return Run(session, PageByKey(), query_.scan_limit);
  }

 private:
  // Where the alternatives of a keyword expression begin, when there is one that an index answers.
  std::optional<std::vector<KeywordDriver>> Drivers(pg::Session& session) const {
    if (query_.filter.keywords.empty()) return std::nullopt;
    return FindDrivers(session, query_.ns, query_.filter.keywords);
  }

  int Share(size_t scans) const { return std::max(1, query_.scan_limit / static_cast<int>(scans)); }

  // The first key that is not wanted any more.
  std::pair<std::string, std::string> Before() const {
    std::optional<FeedKey> before = query_.position.before;
    const auto& end = query_.filter.publish_time_until;
    if (end && *end <= kLastTime) {
      // Stored times are whole milliseconds: below the end is below its millisecond rounded up.
      const FeedKey bound{std::chrono::ceil<std::chrono::milliseconds>(*end), ""};
      if (!before || bound < *before) before = bound;
    }
    if (!before) return {"infinity", ""};
    return {pg::ToParameter(ToTime(before->publish_time)), before->id};
  }

  Answer Run(pg::Session& session, const pg::Statement& statement, int scan_limit) const {
    return Finish(session, session.Run(statement, ToParameters(scan_limit)));
  }

  Answer RunByKeyword(pg::Session& session, const std::vector<KeywordDriver>& drivers) const {
    pg::Parameters parameters = ToParameters(Share(drivers.size()));
    pg::Array terms;
    pg::Array masks;
    for (const KeywordDriver& driver : drivers) {
      terms.Add(driver.term);
      masks.Add(driver.mask);
    }
    parameters.Add(terms);
    parameters.Add(masks);
    return Finish(session, session.Run(PageByKeyword(), parameters));
  }

  // The epoch is the server's: what log_streams says is that of the last write before a failover.
  static Answer Finish(pg::Session& session, const pqxx::result& result) {
    Answer answer = ReadAnswer(result, session.epoch());
    Sort(answer.rows);
    return answer;
  }

  pg::Parameters ToParameters(int scan_limit) const {
    const FeedFilter& filter = query_.filter;
    const auto [before_time, before_id] = Before();
    const std::string from = filter.publish_time_from ? pg::ToParameter(*filter.publish_time_from)
                                                      : std::string("-infinity");
    pg::Parameters parameters;
    parameters.Add(FeedName(query_.ns, query_.category));
    parameters.Add(before_time);
    parameters.Add(before_id);
    parameters.Add(from);
    parameters.Add(scan_limit);
    parameters.Add(since_);
    parameters.Add(until_);
    parameters.Add(ToArray(filter.sources));
    parameters.Add(ToArray(filter.languages));
    parameters.Add(filter.has_image);
    parameters.Add(query_.page_size + 1);
    parameters.Add(query_.ns);
    parameters.Add(ToQuery(filter.keywords));
    return parameters;
  }

  const FeedQuery& query_;
  const int64_t since_;
  const int64_t until_;
};

// Positions of another history (a restored or promoted database) mean nothing here.
bool IsOfThisHistory(const FeedPosition& position, const Answer& answer) {
  const int64_t furthest = std::max(position.since, position.until.value_or(0));
  return furthest == 0 || (furthest <= answer.head && position.epoch == answer.epoch);
}

Answer Read(pg::Session& session, const FeedQuery& query) {
  const FeedPosition& position = query.position;
  Answer answer = Reading(query, position.since, position.until.value_or(kNoBound)).Read(session);
  if (IsOfThisHistory(position, answer)) return answer;
  // A scroll goes on by its key; the newer feed begins afresh, with nothing.
  return Reading(query, position.since > 0 ? kNoBound : 0, kNoBound).Read(session);
}

FeedPage ToPage(Answer answer, const FeedQuery& query) {
  const FeedPosition& position = query.position;
  FeedPage page;
  const bool known = IsOfThisHistory(position, answer);
  page.until = known && position.until ? *position.until : answer.head;
  page.since = known || position.since == 0 ? position.since : answer.head;
  page.epoch = std::move(answer.epoch);
  page.changed_at = answer.changed_at;
  page.created_at = answer.created_at;
  page.tree_revision = answer.tree_revision;
  for (Row& row : answer.rows) {
    const bool full = page.articles.size() == static_cast<size_t>(query.page_size);
    if (full) {
      const StoredArticle& last = page.articles.back();
      page.next = FeedKey{last.publish_time, last.content.id};
      break;
    }
    if (!row.hit) {
      page.next = std::move(row.key);
      break;
    }
    if (row.row[kContent].is_null()) throw std::logic_error("a feed entry without its article");
    page.seqs.push_back(row.row[kSeq].as<int64_t>());
    page.articles.push_back(ReadContent(row.row, kContent, query.ns, std::move(row.key)));
  }
  return page;
}

}  // namespace

StatusOr<FeedPage> FeedStore::ListArticles(Deadline deadline, const FeedQuery& query) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<FeedPage> {
    FeedPage page = ToPage(Read(session, query), query);
    const bool may_not_exist = page.articles.empty() && !IsBuiltInFeed(query.category);
    if (may_not_exist && session.Execute(sql::kCategoryExists, query.ns, query.category).empty()) {
      return NotFound("category", query.category);
    }
    return page;
  });
}

}  // namespace winnow::newsfeed
