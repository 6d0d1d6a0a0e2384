#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/newsfeed/feed/feed_memory.h"
#include "services/newsfeed/feed/feed_query.h"

// A page put together of what memory has and of what the store has below it.
namespace winnow::newsfeed {

// What the store answered, encoded.
struct StorePart {
  std::vector<std::shared_ptr<const EncodedArticle>> articles;
  std::optional<FeedKey> next;
  int64_t since = 0;
  int64_t until = 0;
  std::string epoch;
  Freshness freshness;
};

struct FeedAnswer {
  std::vector<std::shared_ptr<const EncodedArticle>> articles;  // memory's first
  size_t from_memory = 0;
  bool of_memory = false;       // memory had a part, if only to say that there is nothing
  std::optional<FeedKey> next;  // where the next page begins; none at the end
  int64_t since = 0;
  int64_t until = 0;
  std::string epoch;
  Freshness freshness;
  size_t cached = 0;                       // entries of the feed in memory
  FillSource source = FillSource::kStore;  // what memory was filled from
  // The store cannot be read: memory may lack the latest changes; the page ends where memory does.
  bool behind = false;
  bool cut = false;
  bool IsDegraded() const { return behind || cut; }
  bool stale = false;
};

// Whether the page needs what stands below memory's floor: for its articles, or to know whether
// there are more.
bool NeedsStore(const MemoryView& view, const FeedQuery& query);

// The rest of the page, to be asked of the store.
FeedQuery BelowFloor(const MemoryView& view, const FeedQuery& query);

// Of memory alone. A page that needs the store, which is away, is short and goes on where it ends.
FeedAnswer FromMemory(MemoryView view, const FeedQuery& query);
// `rest` answers BelowFloor, and is of the view's watermark and history.
FeedAnswer Spliced(MemoryView view, StorePart rest, const FeedQuery& query);
FeedAnswer FromStore(StorePart part);

}  // namespace winnow::newsfeed
