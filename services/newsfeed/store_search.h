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
  SearchStore(pg::Pool& reads, Metrics& metrics);
  StatusOr<SearchPage> Search(Deadline deadline, const SearchQuery& query);

 private:
  pg::Pool& reads_;
  Counter& by_newest_;
  Counter& by_index_;
  Counter& candidates_;
};

}  // namespace winnow::newsfeed
