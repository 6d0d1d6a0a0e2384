#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/newsfeed/feed/feed_query.h"

// The newest part of one feed, in memory.
namespace winnow::newsfeed {

// An article as it is served: encoded once, glued into many pages. What filters ask for beside it.
struct EncodedArticle {
  std::string bytes;  // winnow.newsfeed.v1.Article on the wire
  std::string source;
  std::string language;
  bool has_image = false;
  std::vector<std::string> terms;  // ToTerms of its keywords and tags
};

struct PrefixEntry {
  FeedKey key;
  int64_t seq = 0;  // the position of the change that brought it into the feed
  std::shared_ptr<const EncodedArticle> article;
};

bool Passes(const FeedFilter& filter, const FeedKey& key, const EncodedArticle& article);

// What a reader wants of a feed: entries below `before` with since < seq <= until.
struct PrefixCut {
  std::optional<FeedKey> before{};  // from the newest if there is none
  int64_t since = 0;
  int64_t until = 0;
  const FeedFilter* filter = nullptr;
  size_t limit = 0;
};

struct PrefixPage {
  std::vector<PrefixEntry> entries;  // newest first
  bool has_more = false;             // the prefix has a further one
};

// Entries in key order, newest first, with an explicit floor: it holds the feed's entries at or
// above the floor, all of them and no others. An insert below the floor is ignored unless the whole
// feed is here; eviction raises the floor; only Fill lowers it. So a page is cut from the prefix
// down to the floor and from the store below it, and nothing in between is missed, whatever is
// inserted or deleted meanwhile. For one thread at a time.
class FeedPrefix {
 public:
  // Holds about `capacity` entries: a quarter more before the oldest of them go.
  explicit FeedPrefix(size_t capacity) : capacity_(capacity) {}

  // In place of everything: the feed's newest entries, newest first; `whole` when those are all.
  void Fill(std::vector<PrefixEntry> entries, bool whole);
  // Adds the entry, or replaces the one of the same key.
  void Put(PrefixEntry entry);
  void Remove(const FeedKey& key);

  PrefixPage Cut(const PrefixCut& cut) const;
  bool Contains(const FeedKey& key) const;
  // Whether an entry of this key would be kept.
  bool Covers(const FeedKey& key) const { return !floor_ || key >= *floor_; }

  // Nothing when the whole feed is here.
  const std::optional<FeedKey>& floor() const { return floor_; }
  size_t size() const { return entries_.size(); }
  // So many entries went that readers reach the floor soon.
  bool WantsFill() const { return floor_.has_value() && entries_.size() < capacity_ / 2; }

 private:
  size_t Find(const FeedKey& key) const;  // the first entry that is not newer

  size_t capacity_;
  std::vector<PrefixEntry> entries_;
  std::optional<FeedKey> floor_;
};

}  // namespace winnow::newsfeed
