#include "services/newsfeed/write/stats_store.h"

#include <map>
#include <tuple>

#include "services/newsfeed/articles/category.h"

namespace winnow::newsfeed {
namespace {

// In one order, so that nobody waits in a circle; the log's lock sees to that as well. What is more
// than $7 days old goes.
constexpr pg::Statement kAdd{
    "newsfeed.add_counters",
    "WITH expired AS (DELETE FROM newsfeed.feed_counters "
    "WHERE day < ($1::timestamptz AT TIME ZONE 'UTC')::date - $7::int) "
    "INSERT INTO newsfeed.feed_counters AS c (namespace, day, kind, key, articles, citations) "
    "SELECT s.namespace, ($1::timestamptz AT TIME ZONE 'UTC')::date, s.kind, s.key, s.articles, "
    "s.citations FROM unnest($2::text[], $3::smallint[], $4::text[], $5::bigint[], $6::bigint[]) "
    "AS s (namespace, kind, key, articles, citations) ORDER BY s.namespace, s.kind, s.key "
    "ON CONFLICT (namespace, day, kind, key) DO UPDATE SET "
    "articles = c.articles + excluded.articles, citations = c.citations + excluded.citations"};

constexpr pg::Statement kRead{
    "newsfeed.read_counters",
    "WITH top AS MATERIALIZED (SELECT c.key, sum(c.articles) AS articles, "
    "sum(c.citations) AS citations FROM newsfeed.feed_counters c WHERE c.namespace = $1 "
    "AND c.day >= ($3::timestamptz AT TIME ZONE 'UTC')::date AND c.kind = $2::smallint "
    "GROUP BY c.key ORDER BY sum(c.articles) + sum(c.citations) DESC, c.key LIMIT $4) "
    "SELECT t.key, t.articles, t.citations, c.day::timestamp AT TIME ZONE 'UTC', c.articles, "
    "c.citations FROM top t JOIN newsfeed.feed_counters c ON c.namespace = $1 "
    "AND c.day >= ($3::timestamptz AT TIME ZONE 'UTC')::date AND c.kind = $2::smallint "
    "AND c.key = t.key ORDER BY t.articles + t.citations DESC, t.key, c.day"};

struct Counts {
  int64_t articles = 0;
  int64_t citations = 0;
};
using CounterKey = std::tuple<std::string, CounterKind, std::string>;
using Counters = std::map<CounterKey, Counts>;

void Add(pg::LogSession& log, const Counters& counters) {
  if (counters.empty()) return;
  pg::Array namespaces, kinds, keys, articles, citations;
  for (const auto& [key, counts] : counters) {
    namespaces.Add(std::get<0>(key));
    kinds.Add(static_cast<int>(std::get<1>(key)));
    keys.Add(std::get<2>(key));
    articles.Add(counts.articles);
    citations.Add(counts.citations);
  }
  log.session().Execute(kAdd, log.arrival_time(), namespaces, kinds, keys, articles, citations,
                        kKeptDays);
}

}  // namespace

void CountArticles(pg::LogSession& log, std::span<const StoredArticle> created) {
  Counters counters;
  for (const StoredArticle& article : created) {
    const Article& content = article.content;
    ++counters[{content.ns, CounterKind::kSource, content.source}].articles;
    for (const CategoryLabel& label : content.categories) {
      ++counters[{content.ns, CounterKind::kCategory, label.id}].articles;
    }
    if (content.categories.empty()) {
      ++counters[{content.ns, CounterKind::kCategory, std::string(kUncategorizedFeed)}].articles;
    }
  }
  Add(log, counters);
}

void CountCitations(pg::LogSession& log, std::span<const ChannelCitations> cited) {
  Counters counters;
  for (const ChannelCitations& one : cited) {
    counters[{one.ns, CounterKind::kChannel, one.channel}].citations += one.count;
  }
  Add(log, counters);
}

StatusOr<std::vector<FeedCounter>> StatsStore::Read(Deadline deadline, const StatsQuery& query) {
  return reads_.Statements(
      deadline, [&](pg::Session& session) -> StatusOr<std::vector<FeedCounter>> {
        std::vector<FeedCounter> counters;
        for (const pqxx::row& row : session.Execute(kRead, query.ns, static_cast<int>(query.kind),
                                                    query.from, query.limit)) {
          std::string key = row[0].as<std::string>();
          if (counters.empty() || counters.back().key != key) {
            counters.push_back({std::move(key), row[1].as<int64_t>(), row[2].as<int64_t>()});
          }
          counters.back().days.push_back(
              {pg::ToTime(row[3]), row[4].as<int64_t>(), row[5].as<int64_t>()});
        }
        return counters;
      });
}

}  // namespace winnow::newsfeed
