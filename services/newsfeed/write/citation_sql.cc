#include "services/newsfeed/write/citation_sql.h"

#include <map>
#include <set>

#include "services/newsfeed/articles/feeds_log_sql.h"
#include "services/newsfeed/articles/known_sql.h"
#include "services/newsfeed/write/citation.sql.h"
#include "services/newsfeed/write/stats_store.h"
#include "services/newsfeed/write/write_store.h"

namespace winnow::newsfeed {
namespace {

constexpr auto kMaxChannels = static_cast<int64_t>(kMaxCitationChannels);

struct Added {
  int64_t count = 0;
  std::set<std::string> channels;
};

// New citations of each article that may be there.
std::map<ArticleKey, Added> Insert(pg::LogSession& log, std::span<const Citation> citations) {
  pg::Session& session = log.session();
  std::set<ArticleKey> originals;
  for (const Citation& citation : citations) originals.emplace(citation.ns, citation.original);
  const std::map<ArticleKey, Alias> aliases = LoadAliases(session, originals);
  pg::Array namespaces, cited, duplicates, channels, urls, arrivals;
  for (const Citation& citation : citations) {
    const auto alias = aliases.find({citation.ns, citation.original});
    namespaces.Add(citation.ns);
    cited.Add(alias == aliases.end() ? citation.original : alias->second.article_id);
    duplicates.Add(citation.duplicate);
    channels.Add(citation.channel);
    urls.Add(citation.url);
    arrivals.Add(citation.arrival_time);
  }
  std::map<ArticleKey, Added> added;
  std::vector<ChannelCitations> cited_by;
  for (const pqxx::row& row : session.Execute(sql::kInsertCitations, namespaces, cited, duplicates,
                                              channels, urls, arrivals)) {
    Added& of = added[{row[0].as<std::string>(), row[1].as<std::string>()}];
    ++of.count;
    of.channels.insert(row[2].as<std::string>());
    cited_by.push_back({row[0].as<std::string>(), row[2].as<std::string>(), 1});
  }
  CountCitations(log, cited_by);
  return added;
}

std::vector<Change> Add(pg::Session& session, const std::map<ArticleKey, Added>& added) {
  if (added.empty()) return {};
  pg::Array namespaces, ids, counts, channels;
  for (const auto& [key, of] : added) {
    namespaces.Add(key.first);
    ids.Add(key.second);
    counts.Add(of.count);
    pg::Array names;
    for (const std::string& channel : of.channels) names.Add(channel);
    channels.Add(names.ToString());
  }
  std::vector<Change> changes;
  for (const pqxx::row& row :
       session.Execute(sql::kAddCitations, namespaces, ids, counts, channels, kMaxChannels)) {
    changes.push_back({row[0].as<std::string>(), row[1].as<std::string>(), ChangeKind::kCited});
  }
  return changes;
}

}  // namespace

void CountCitations(pg::Session& session, std::vector<StoredArticle>& created) {
  if (created.empty()) return;
  std::map<ArticleKey, StoredArticle*> by_key;
  pg::Array namespaces, ids;
  for (StoredArticle& article : created) {
    by_key[{article.content.ns, article.content.id}] = &article;
    namespaces.Add(article.content.ns);
    ids.Add(article.content.id);
  }
  for (const pqxx::row& row :
       session.Execute(sql::kCountCitations, namespaces, ids, kMaxChannels)) {
    StoredArticle& article = *by_key.at({row[0].as<std::string>(), row[1].as<std::string>()});
    article.citation_count = row[2].as<int64_t>();
    article.citation_channels = pg::ToTexts(row[3]);
  }
}

void MoveCitations(pg::LogSession& log, const UpsertPlan& plan) {
  if (plan.new_aliases.empty()) return;
  pg::Array namespaces, alias_ids, article_ids;
  for (const ArticleKey& key : plan.new_aliases) {
    namespaces.Add(key.first);
    alias_ids.Add(key.second);
    article_ids.Add(plan.aliases.at(key).article_id);
  }
  std::set<ArticleKey> cited;
  for (const pqxx::row& row :
       log.session().Execute(sql::kMoveCitations, namespaces, alias_ids, article_ids)) {
    cited.emplace(row[0].as<std::string>(), row[1].as<std::string>());
  }
  if (cited.empty()) return;
  pg::Array cited_namespaces, cited_ids;
  std::vector<Change> changes;
  for (const auto& [ns, id] : cited) {
    cited_namespaces.Add(ns);
    cited_ids.Add(id);
    changes.push_back({ns, id, ChangeKind::kCited});
  }
  log.session().Execute(sql::kRecountCitations, cited_namespaces, cited_ids, kMaxChannels);
  AppendChanges(log, changes);
}

Status WriteStore::Cite(Deadline deadline, std::span<const Citation> citations) {
  LogReceipt receipt;
  return pg::LogTransaction::Run(
             logs_, FeedsStream(), deadline,
             [&](pg::LogSession& log) {
               PlanByIndex(log.session());
               receipt = AppendChanges(log, Add(log.session(), Insert(log, citations)));
               return OkStatus();
             },
             [&](pg::Session& session) { return IsCommitted(session, receipt); })
      .status();
}

}  // namespace winnow::newsfeed
