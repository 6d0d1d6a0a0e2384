#include "services/newsfeed/write/stats_store.h"

#include <map>
#include <tuple>

#include "services/newsfeed/articles/category.h"
#include "services/newsfeed/write/stats_store.sql.h"

namespace winnow::newsfeed {
namespace {

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
  log.session().Execute(sql::kAddCounters, log.arrival_time(), namespaces, kinds, keys, articles,
                        citations, kKeptDays);
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
        for (const pqxx::row& row :
             session.Execute(sql::kReadCounters, query.ns, static_cast<int>(query.kind), query.from,
                             query.limit)) {
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
