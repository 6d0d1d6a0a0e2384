#include "services/newsfeed/feed/feed_memory.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>

#include "services/newsfeed/articles/category.h"

namespace winnow::newsfeed {
namespace {

int64_t SteadySeconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

void NoteUse(std::atomic<int64_t>& used_at) {
  const int64_t now = SteadySeconds();
  if (used_at.load(std::memory_order_relaxed) != now) {
    used_at.store(now, std::memory_order_relaxed);
  }
}

}  // namespace

void FeedMemory::Touch(std::string_view name) const {
  const std::shared_lock lock(mutex_);
  if (const auto found = feeds_.find(name); found != feeds_.end()) NoteUse(found->second->used_at);
}

std::optional<MemoryView> FeedMemory::Look(const FeedQuery& query) const {
  const FeedPosition& asked = query.position;
  const std::shared_lock lock(mutex_);
  const auto found = feeds_.find(FeedName(query.ns, query.category));
  if (found == feeds_.end()) return std::nullopt;
  const Feed& feed = *found->second;
  const int64_t position = std::max(position_, feed.filled_at);
  const int64_t furthest = std::max(asked.since, asked.until.value_or(0));
  if (furthest > position || (furthest > 0 && asked.epoch != epoch_)) return std::nullopt;
  NoteUse(feed.used_at);
  MemoryView view;
  view.since = asked.since;
  view.until = asked.until.value_or(position);
  view.epoch = epoch_;
  view.page = feed.prefix.Cut({.before = asked.before,
                               .since = view.since,
                               .until = view.until,
                               .filter = &query.filter,
                               .limit = static_cast<size_t>(query.page_size)});
  view.floor = feed.prefix.floor();
  view.cached = feed.prefix.size();
  view.source = feed.source;
  if (const auto fresh = fresh_.find(query.ns); fresh != fresh_.end()) {
    view.freshness = fresh->second;
  }
  return view;
}

bool FeedMemory::WantsFill(std::string_view feed) const {
  const std::shared_lock lock(mutex_);
  const auto found = feeds_.find(feed);
  return found == feeds_.end() || found->second->prefix.WantsFill();
}

void FeedMemory::Install(const std::string& name, FeedFill fill) {
  const std::unique_lock lock(mutex_);
  version_.fetch_add(1, std::memory_order_acq_rel);
  if (fill.epoch != epoch_) {  // another history: nothing else of it is here
    feeds_.clear();
    fresh_.clear();
    position_ = 0;
    epoch_ = fill.epoch;
  }
  std::unique_ptr<Feed>& feed = feeds_[name];
  if (feed == nullptr) feed = std::make_unique<Feed>(fill.ns, articles_);
  feed->prefix.Fill(std::move(fill.entries), fill.whole);
  feed->filled_at = fill.position;
  feed->source = fill.source;
  feed->used_at = SteadySeconds();
  Freshness& fresh = fresh_[fill.ns];
  fresh.changed_at = std::max(fresh.changed_at, fill.freshness.changed_at);
  fresh.created_at = std::max(fresh.created_at, fill.freshness.created_at);
  fresh.tree_revision = std::max(fresh.tree_revision, fill.freshness.tree_revision);
  if (feeds_.size() > most_feeds_) EvictOne();
}

void FeedMemory::EvictOne() {
  const auto oldest = std::min_element(feeds_.begin(), feeds_.end(), [](auto& a, auto& b) {
    return a.second->used_at.load() < b.second->used_at.load();
  });
  feeds_.erase(oldest);
}

void FeedMemory::Apply(int64_t seq, const std::vector<PlaceNow>& places) {
  const std::unique_lock lock(mutex_);
  version_.fetch_add(1, std::memory_order_acq_rel);
  for (const PlaceNow& place : places) {
    const auto found = feeds_.find(place.feed);
    if (found == feeds_.end() || found->second->filled_at >= seq) continue;
    if (place.entry.article == nullptr) {
      found->second->prefix.Remove(place.entry.key);
    } else {
      found->second->prefix.Put(place.entry);
    }
  }
}

void FeedMemory::Advance(int64_t position) {
  const std::unique_lock lock(mutex_);
  version_.fetch_add(1, std::memory_order_acq_rel);
  position_ = position;
}

void FeedMemory::Refresh(const std::string& ns, const Freshness& freshness) {
  const std::unique_lock lock(mutex_);
  version_.fetch_add(1, std::memory_order_acq_rel);
  Freshness& fresh = fresh_[ns];
  fresh.changed_at = std::max(fresh.changed_at, freshness.changed_at);
  fresh.created_at = std::max(fresh.created_at, freshness.created_at);
  fresh.tree_revision = std::max(fresh.tree_revision, freshness.tree_revision);
}

void FeedMemory::Clear(int64_t position) {
  const std::unique_lock lock(mutex_);
  version_.fetch_add(1, std::memory_order_acq_rel);
  feeds_.clear();
  fresh_.clear();
  position_ = position;
  epoch_.clear();
}

bool FeedMemory::empty() const { return feeds() == 0; }

int64_t FeedMemory::OldestFill() const {
  const std::shared_lock lock(mutex_);
  int64_t oldest = std::numeric_limits<int64_t>::max();
  for (const auto& [name, feed] : feeds_) oldest = std::min(oldest, feed->filled_at);
  return oldest;
}

bool FeedMemory::Has(std::string_view feed) const {
  const std::shared_lock lock(mutex_);
  return feeds_.contains(feed);
}

std::optional<MemoryStatus> FeedMemory::Describe(std::string_view name) const {
  const std::shared_lock lock(mutex_);
  const auto found = feeds_.find(name);
  if (found == feeds_.end()) return std::nullopt;
  const Feed& feed = *found->second;
  return MemoryStatus{feed.prefix.size(), feed.prefix.floor(), std::max(position_, feed.filled_at),
                      feed.source};
}

size_t FeedMemory::feeds() const {
  const std::shared_lock lock(mutex_);
  return feeds_.size();
}

size_t FeedMemory::articles() const {
  const std::shared_lock lock(mutex_);
  size_t count = 0;
  for (const auto& [name, feed] : feeds_) count += feed->prefix.size();
  return count;
}

int64_t FeedMemory::position() const {
  const std::shared_lock lock(mutex_);
  return position_;
}

std::vector<std::string> FeedMemory::FeedsAbout(const std::string& ns, const FeedKey& key) const {
  const std::shared_lock lock(mutex_);
  std::vector<std::string> names;
  for (auto at = feeds_.lower_bound(ns + "/"); at != feeds_.end() && at->second->ns == ns; ++at) {
    if (at->second->prefix.Covers(key)) names.push_back(at->first);
  }
  return names;
}

}  // namespace winnow::newsfeed
