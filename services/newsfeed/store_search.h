#pragma once

#include <span>

#include "services/newsfeed/articles.h"
#include "services/newsfeed/search_terms.h"
#include "services/newsfeed/upsert.h"
#include "services/platform/clock.h"
#include "services/platform/metrics.h"
#include "services/platform/postgres/pool.h"
#include "services/platform/status.h"

// Rows of newsfeed.article_search, and searches in them.
namespace winnow::newsfeed {

// One statement each.
void InsertSearch(pg::Session& session, std::span<const StoredArticle> articles);
void DeleteSearch(pg::Session& session, std::span<const StoredArticle> articles);
// Where the texts of an edit differ.
void ReplaceSearch(pg::Session& session, std::span<const Edit> edits);

class SearchStore {
 public:
  SearchStore(pg::Pool& reads, pg::Pool& writes, Metrics& metrics);
  StatusOr<SearchPage> Search(Deadline deadline, const SearchQuery& query);
  // Puts the words that wait in front of the index (GIN's pending list) into it; how many pages of
  // 8 kB waited. Whoever stores articles does so as well when the list is full, holding the log.
  StatusOr<int64_t> MergeWords(Deadline deadline);

 private:
  pg::Pool& reads_;
  pg::Pool& writes_;
  Counter& by_newest_;
  Counter& by_index_;
  Counter& candidates_;
};

}  // namespace winnow::newsfeed
