#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "services/newsfeed/feed/feed_prefix.h"
#include "services/newsfeed/feed/feed_query.h"
#include "services/platform/base/clock.h"

// The hot tier: the newest part of the feeds that are read, in this process.
namespace winnow::newsfeed {

// When a namespace last changed.
struct Freshness {
  std::optional<Time> changed_at;  // any change
  std::optional<Time> created_at;  // a new article
  int64_t tree_revision = 0;       // of its categories
};

enum class FillSource { kStore, kRedis };

// A feed as it was at one position of the log.
struct FeedFill {
  std::string ns;
  std::vector<PrefixEntry> entries;  // newest first
  bool whole = false;                // the feed has no others
  int64_t position = 0;
  std::string epoch;  // the history that position belongs to
  Freshness freshness;
  FillSource source = FillSource::kStore;
};

// What memory can say to a query. The page goes on below `floor` in the store when `floor` is set
// and the page is not full.
struct MemoryView {
  PrefixPage page;
  std::optional<FeedKey> floor;
  int64_t since = 0;
  int64_t until = 0;
  std::string epoch;
  Freshness freshness;
  size_t cached = 0;
  FillSource source = FillSource::kStore;
};

// A place in a feed that a change may have touched, as it is now; nothing there any more: null.
struct PlaceNow {
  std::string feed;
  PrefixEntry entry;  // its article null: the place is empty
};

// What a change did to a feed, as a watcher sees it.
struct FeedEvent {
  int64_t seq = 0;  // of the change
  std::string id;
  FeedKey key{};
  int64_t entered_at = 0;                           // when the article came into the feed
  std::shared_ptr<const EncodedArticle> article{};  // null: it has left
};

// What memory holds of one feed.
struct MemoryStatus {
  size_t cached = 0;
  std::optional<FeedKey> floor{};  // nothing: the whole feed
  int64_t position = 0;            // of the log; exact at it
  FillSource source = FillSource::kStore;
};

// Prefixes of feeds, all exact at one position of the log (each at least at the one it was filled
// at). Readers of any thread; one writer at a time changes it (memory_worker.h).
class FeedMemory {
 public:
  // Holds about `articles` of each of at most `feeds`; of more, the least used goes.
  FeedMemory(size_t articles, size_t feeds) : articles_(articles), most_feeds_(feeds) {}

  // Nothing when the feed is not here, or what is here is behind the query's watermark or of
  // another history.
  std::optional<MemoryView> Look(const FeedQuery& query) const;
  // Whether the feed should be read from the store, because it is not here or has shrunk.
  bool WantsFill(std::string_view feed) const;

  void Install(const std::string& feed, FeedFill fill);
  // Sets the places to what they are now, because of the change at `seq`: feeds that were filled
  // later know better.
  void Apply(int64_t seq, const std::vector<PlaceNow>& places);
  // Everything up to `position` is applied.
  void Advance(int64_t position);
  void Refresh(const std::string& ns, const Freshness& freshness);
  void Clear(int64_t position);

  // Another one after each change of what Look answers.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }
  // That the feed is being read, though not by Look.
  void Touch(std::string_view feed) const;

  bool empty() const;
  bool Has(std::string_view feed) const;
  // Nothing when it is not here.
  std::optional<MemoryStatus> Describe(std::string_view feed) const;
  // The first position that a feed here was filled at; changes up to it matter to none.
  int64_t OldestFill() const;
  size_t feeds() const;
  size_t articles() const;
  int64_t position() const;
  // The feeds of a namespace that would keep an entry of this key, or that have it.
  std::vector<std::string> FeedsAbout(const std::string& ns, const FeedKey& key) const;

 private:
  struct Feed {
    Feed(std::string n, size_t capacity) : ns(std::move(n)), prefix(capacity) {}
    std::string ns;
    FeedPrefix prefix;
    int64_t filled_at = 0;
    FillSource source = FillSource::kStore;
    mutable std::atomic<int64_t> used_at = 0;  // seconds of the steady clock
  };
  void EvictOne();

  const size_t articles_;
  const size_t most_feeds_;
  mutable std::shared_mutex mutex_;
  std::map<std::string, std::unique_ptr<Feed>, std::less<>> feeds_;
  std::map<std::string, Freshness, std::less<>> fresh_;
  int64_t position_ = 0;
  std::string epoch_;
  std::atomic<uint64_t> version_ = 1;
};

// First pages of feeds as they were answered last, bytes and all: who reads a hot feed mostly asks
// for the same. A page is good as long as memory is of the version that it was cut from. Holds
// 32 MiB at most. Any thread.
class HotPages {
 public:
  using Bytes = std::shared_ptr<const std::string>;

  struct Page {
    uint64_t version = 0;  // of the memory
    bool stale = false;    // as the page says
    std::optional<Time> created_at;
    size_t articles = 0;
    std::string feed;
    Bytes bytes;
  };

  std::shared_ptr<const Page> Find(const std::string& key, uint64_t version) const {
    const std::shared_lock lock(mutex_);
    const auto found = pages_.find(key);
    if (found == pages_.end() || found->second->version != version) return nullptr;
    return found->second;
  }

  void Keep(const std::string& key, Page page) {
    const size_t size = page.bytes->size();
    auto kept = std::make_shared<const Page>(std::move(page));
    const std::unique_lock lock(mutex_);
    std::shared_ptr<const Page>& place = pages_[key];
    if (place != nullptr) bytes_ -= place->bytes->size();
    bytes_ += size;
    place = std::move(kept);
    if (bytes_ <= kMostBytes && pages_.size() <= kMaxPages) return;
    pages_.clear();
    bytes_ = 0;
  }

 private:
  static constexpr size_t kMaxPages = 512;
  static constexpr size_t kMostBytes = size_t{32} << 20;

  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Page>> pages_;
  size_t bytes_ = 0;
};

}  // namespace winnow::newsfeed
