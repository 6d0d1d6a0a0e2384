#include "services/newsfeed/feed/feed_prefix.h"

#include <algorithm>

#include "services/newsfeed/articles/article.h"

namespace winnow::newsfeed {
namespace {

bool IsIn(const std::vector<std::string>& values, const std::string& value) {
  return values.empty() || std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

bool Passes(const FeedFilter& filter, const FeedKey& key, const EncodedArticle& article) {
  const Time time(std::chrono::duration_cast<Micros>(key.publish_time.time_since_epoch()));
  return IsIn(filter.sources, article.source) && IsIn(filter.languages, article.language) &&
         (!filter.has_image || *filter.has_image == article.has_image) &&
         (!filter.publish_time_from || time >= *filter.publish_time_from) &&
         (!filter.publish_time_until || time < *filter.publish_time_until) &&
         Holds(filter.keywords, article.terms);
}

size_t FeedPrefix::Find(const FeedKey& key) const {
  const auto at = std::partition_point(entries_.begin(), entries_.end(),
                                       [&](const PrefixEntry& entry) { return entry.key > key; });
  return static_cast<size_t>(at - entries_.begin());
}

void FeedPrefix::Fill(std::vector<PrefixEntry> entries, bool whole) {
  entries_ = std::move(entries);
  floor_.reset();
  if (!whole && !entries_.empty()) floor_ = entries_.back().key;
}

void FeedPrefix::Put(PrefixEntry entry) {
  if (!Covers(entry.key)) return;
  const size_t at = Find(entry.key);
  if (at < entries_.size() && entries_[at].key == entry.key) {
    entries_[at] = std::move(entry);
    return;
  }
  entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(at), std::move(entry));
  if (entries_.size() <= capacity_ + capacity_ / 4) return;
  entries_.resize(std::max<size_t>(capacity_, 1));
  floor_ = entries_.back().key;
}

void FeedPrefix::Remove(const FeedKey& key) {
  const size_t at = Find(key);
  if (at == entries_.size() || entries_[at].key != key) return;
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at));
}

bool FeedPrefix::Contains(const FeedKey& key) const {
  const size_t at = Find(key);
  return at < entries_.size() && entries_[at].key == key;
}

PrefixPage FeedPrefix::Cut(const PrefixCut& cut) const {
  PrefixPage page;
  size_t at = 0;
  if (cut.before) {
    at = Find(*cut.before);
    if (at < entries_.size() && entries_[at].key == *cut.before) ++at;
  }
  page.entries.reserve(std::min(cut.limit, entries_.size() - at));
  for (; at < entries_.size(); ++at) {
    const PrefixEntry& entry = entries_[at];
    if (entry.seq <= cut.since || entry.seq > cut.until) continue;
    if (cut.filter != nullptr && !Passes(*cut.filter, entry.key, *entry.article)) continue;
    if (page.entries.size() == cut.limit) {
      page.has_more = true;
      break;
    }
    page.entries.push_back(entry);
  }
  return page;
}

}  // namespace winnow::newsfeed
