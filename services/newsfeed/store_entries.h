#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/newsfeed/articles.h"
#include "services/platform/postgres/session.h"

// Rows of newsfeed.feed_entries: where articles stand in feeds.
namespace winnow::newsfeed {

// An article in one feed.
struct Entry {
  std::string feed;
  const StoredArticle* article = nullptr;
  int64_t seq = 0;  // of the change that brought it there
};

// One statement each.
void InsertEntries(pg::Session& session, std::span<const Entry> entries);
void DeleteEntries(pg::Session& session, std::span<const Entry> entries);
// Writes what filters ask for again; seq stays.
void RefreshEntries(pg::Session& session, std::span<const Entry> entries);

}  // namespace winnow::newsfeed
