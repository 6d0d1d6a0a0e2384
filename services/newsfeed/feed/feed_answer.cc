#include "services/newsfeed/feed/feed_answer.h"

#include <algorithm>
#include <utility>

namespace winnow::newsfeed {
namespace {

FeedAnswer Begin(MemoryView view) {
  FeedAnswer answer;
  answer.from_memory = view.page.entries.size();
  answer.of_memory = true;
  answer.articles.reserve(answer.from_memory);
  for (PrefixEntry& entry : view.page.entries) answer.articles.push_back(std::move(entry.article));
  answer.since = view.since;
  answer.until = view.until;
  answer.epoch = std::move(view.epoch);
  answer.freshness = view.freshness;
  answer.cached = view.cached;
  answer.source = view.source;
  return answer;
}

bool IsFull(const MemoryView& view, const FeedQuery& query) {
  return view.page.entries.size() == static_cast<size_t>(query.page_size);
}

// Nothing below the floor passes a filter that begins above it.
bool EndsAboveFloor(const FeedKey& floor, const FeedFilter& filter) {
  const Micros time = floor.publish_time.time_since_epoch();
  return filter.publish_time_from && Time(time) < *filter.publish_time_from;
}

}  // namespace

bool NeedsStore(const MemoryView& view, const FeedQuery& query) {
  if (!view.floor || view.page.has_more) return false;
  return !EndsAboveFloor(*view.floor, query.filter);
}

FeedQuery BelowFloor(const MemoryView& view, const FeedQuery& query) {
  FeedQuery rest = query;
  const std::optional<FeedKey>& before = query.position.before;
  rest.position.before = before ? std::min(*before, *view.floor) : *view.floor;
  rest.position.since = view.since;
  rest.position.until = view.until;
  rest.position.epoch = view.epoch;
  const int here = static_cast<int>(view.page.entries.size());
  rest.page_size = std::max(1, query.page_size - here);
  return rest;
}

FeedAnswer FromMemory(MemoryView view, const FeedQuery& query) {
  const bool goes_on = view.page.has_more || NeedsStore(view, query);
  std::optional<FeedKey> next;
  if (goes_on && !view.page.entries.empty()) next = view.page.entries.back().key;
  FeedAnswer answer = Begin(std::move(view));
  answer.next = std::move(next);
  return answer;
}

FeedAnswer Spliced(MemoryView view, StorePart rest, const FeedQuery& query) {
  const bool full = IsFull(view, query);
  std::optional<FeedKey> last;
  if (full) last = view.page.entries.back().key;
  FeedAnswer answer = Begin(std::move(view));
  answer.freshness = rest.freshness;
  if (full) {  // the store only showed whether there are more
    if (!rest.articles.empty() || rest.next) answer.next = std::move(last);
    return answer;
  }
  std::move(rest.articles.begin(), rest.articles.end(), std::back_inserter(answer.articles));
  answer.next = std::move(rest.next);
  return answer;
}

FeedAnswer FromStore(StorePart part) {
  FeedAnswer answer;
  answer.articles = std::move(part.articles);
  answer.next = std::move(part.next);
  answer.since = part.since;
  answer.until = part.until;
  answer.epoch = std::move(part.epoch);
  answer.freshness = part.freshness;
  return answer;
}

}  // namespace winnow::newsfeed
