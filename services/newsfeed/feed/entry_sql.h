#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "services/newsfeed/articles/article.h"
#include "services/newsfeed/articles/upsert.h"
#include "services/newsfeed/feed/feed_membership.h"
#include "services/platform/postgres/session/session.h"

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

// The feeds that have an entry of each of these articles, sorted, by article number.
std::map<int64_t, std::vector<std::string>> ReadFeeds(pg::Session& session,
                                                      const std::vector<int64_t>& numbers);
// Moves the edited articles from feeds to feeds; the first edit is the change at `first`, the
// others follow.
void MoveEntries(pg::Session& session, std::span<const Edit> edits, std::vector<FeedChange> moves,
                 int64_t first);

}  // namespace winnow::newsfeed
