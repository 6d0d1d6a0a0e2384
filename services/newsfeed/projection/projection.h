#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/newsfeed/feed/feed_prefix.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/status.h"

// The feeds as other programs find them in Redis: the published keys, and ours beside them.
namespace winnow::newsfeed {

// Newest articles of a feed that are projected, and how long what is projected lives.
inline constexpr int kProjectedArticles = 200;
inline constexpr int kFeedTtlSeconds = 3'600;
inline constexpr int kArticleTtlSeconds = 86'400;
inline constexpr int kLockTtlSeconds = 30;
// The keys have no namespace: this one is projected.
inline constexpr std::string_view kProjectedNamespace = "default";

// Published names. A sibling has the whole name in braces, so that Redis Cluster keeps both in one
// slot.
std::string FeedKeyOf(std::string_view category);     // news:feed:ai, a sorted set by ms
std::string StagingKeyOf(std::string_view category);  // {news:feed:ai}:next
std::string StateKeyOf(std::string_view category);    // {news:feed:ai}:state, a hash
std::string MetaKeyOf(std::string_view category);     // news:meta:ai, a hash
std::string LockKeyOf(std::string_view category);     // news:lock:ai
std::string ArticleKeyOf(std::string_view id);        // news:article:{id} of the published design

struct ProjectedEntry {
  FeedKey key;
  int64_t seq = 0;
  int64_t revision = 0;
  friend bool operator==(const ProjectedEntry&, const ProjectedEntry&) = default;
};

// What stands beside a projected feed, swapped in with it.
struct ProjectionState {
  int64_t position = 0;  // of the log
  std::string epoch;
  int64_t fence = 0;  // of the lease of who wrote it
  bool whole = false;
  std::vector<ProjectedEntry> entries;  // newest first
};

// One line an entry: "<ms>_<id> <seq> <revision>". Nothing for a text that no projector writes.
std::string PackEntries(const std::vector<ProjectedEntry>& entries);
std::optional<std::vector<ProjectedEntry>> UnpackEntries(std::string_view text);

// Of entries and the articles' bytes, in order: kept in the store, so that a Redis that lost,
// mixed up or made up something is found out.
Hash128Value ProjectionChecksum(const ProjectionState& state,
                                const std::vector<std::string_view>& articles);

}  // namespace winnow::newsfeed
