#pragma once

#include <span>

#include "services/newsfeed/articles/article.h"
#include "services/newsfeed/articles/upsert.h"
#include "services/newsfeed/search/search_terms.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"
#include "services/platform/process/metrics.h"

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
  // 8 kB waited. A writer of articles does so as well when the list is full, holding the log.
  StatusOr<int64_t> MergeWords(Deadline deadline);

 private:
  pg::Pool& reads_;
  pg::Pool& writes_;
  Counter& by_newest_;
  Counter& by_index_;
  Counter& candidates_;
};

}  // namespace winnow::newsfeed
