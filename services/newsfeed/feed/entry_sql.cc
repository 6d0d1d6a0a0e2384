#include "services/newsfeed/feed/entry_sql.h"

#include <algorithm>

#include "services/newsfeed/articles/article_sql.h"
#include "services/newsfeed/feed/entry.sql.h"
#include "services/newsfeed/keywords/keyword_sql.h"

namespace winnow::newsfeed {
namespace {

void AddKeys(pg::Parameters& parameters, std::span<const Entry> entries) {
  pg::Array feeds;
  pg::Array times;
  pg::Array ids;
  for (const Entry& entry : entries) {
    feeds.Add(entry.feed);
    times.Add(ToTime(entry.article->publish_time));
    ids.Add(entry.article->content.id);
  }
  parameters.Add(feeds);
  parameters.Add(times);
  parameters.Add(ids);
}

void AddFiltered(pg::Parameters& parameters, std::span<const Entry> entries) {
  pg::Array sources;
  pg::Array languages;
  pg::Array images;
  pg::Array terms;
  const StoredArticle* last = nullptr;
  std::string last_terms;
  for (const Entry& entry : entries) {
    if (entry.article != last) {
      pg::Array of_article;
      for (const std::string& term : TermsOf(entry.article->content)) of_article.Add(term);
      last_terms = of_article.ToString();
      last = entry.article;
    }
    terms.Add(last_terms);
    sources.Add(entry.article->content.source);
    languages.Add(entry.article->content.language);
    images.Add(!entry.article->content.thumbnail_url.empty());
  }
  parameters.Add(sources);
  parameters.Add(languages);
  parameters.Add(images);
  parameters.Add(terms);
}

}  // namespace

void InsertEntries(pg::Session& session, std::span<const Entry> entries) {
  if (entries.empty()) return;
  pg::Parameters parameters;
  AddKeys(parameters, entries);
  AddFiltered(parameters, entries);
  pg::Array positions;
  pg::Array numbers;
  for (const Entry& entry : entries) {
    positions.Add(entry.seq);
    numbers.Add(entry.article->number);
  }
  parameters.Add(positions);
  parameters.Add(numbers);
  session.Run(sql::kInsertEntries, parameters);
}

void DeleteEntries(pg::Session& session, std::span<const Entry> entries) {
  if (entries.empty()) return;
  pg::Parameters parameters;
  AddKeys(parameters, entries);
  session.Run(sql::kDeleteEntries, parameters);
}

void RefreshEntries(pg::Session& session, std::span<const Entry> entries) {
  if (entries.empty()) return;
  pg::Parameters parameters;
  AddKeys(parameters, entries);
  AddFiltered(parameters, entries);
  session.Run(sql::kRefreshEntries, parameters);
}

std::map<int64_t, std::vector<std::string>> ReadFeeds(pg::Session& session,
                                                      const std::vector<int64_t>& numbers) {
  std::map<int64_t, std::vector<std::string>> feeds;
  if (numbers.empty()) return feeds;
  pg::Array asked;
  for (const int64_t number : numbers) asked.Add(number);
  for (const pqxx::row& row : session.Execute(sql::kFeedsOfArticles, asked)) {
    feeds[row[0].as<int64_t>()].push_back(row[1].as<std::string>());
  }
  for (auto& [number, names] : feeds) std::sort(names.begin(), names.end());
  return feeds;
}

void MoveEntries(pg::Session& session, std::span<const Edit> edits, std::vector<FeedChange> moves,
                 int64_t first) {
  std::vector<Entry> entered;
  std::vector<Entry> left;
  std::vector<Entry> refreshed;
  int64_t seq = first;
  for (size_t i = 0; i < moves.size(); ++i) {
    const StoredArticle* article = &edits[i].after;
    for (std::string& feed : moves[i].entered) entered.push_back({std::move(feed), article, seq});
    for (std::string& feed : moves[i].left) left.push_back({std::move(feed), article, seq});
    for (std::string& feed : moves[i].refreshed) {
      refreshed.push_back({std::move(feed), article, seq});
    }
    ++seq;
  }
  DeleteEntries(session, left);
  RefreshEntries(session, refreshed);
  InsertEntries(session, entered);
}

}  // namespace winnow::newsfeed
