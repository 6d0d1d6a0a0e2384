#pragma once

#include "services/newsfeed/articles/article.h"
#include "services/newsfeed/articles/upsert.h"
#include "services/platform/postgres/log/log_transaction.h"

// Citations, and their counts on the articles that are cited. Under the lock of the log, so that a
// count never misses one that comes at the same time.
namespace winnow::newsfeed {

// Sets the counts of articles that are about to be created: citations may have come first.
void CountCitations(pg::Session& session, std::vector<StoredArticle>& created);

// What cites an id that was merged cites the article it was merged into.
void MoveCitations(pg::LogSession& log, const UpsertPlan& plan);

}  // namespace winnow::newsfeed
