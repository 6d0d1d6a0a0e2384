#include "services/newsfeed/api/watch_hub.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "services/newsfeed/api/convert.h"
#include "services/newsfeed/articles/category.h"

namespace winnow::newsfeed {
namespace {

// A quiet feed's watchers get a new token after so many positions, so that theirs does not grow
// older than the log.
constexpr int64_t kMarkEvery = 10'000;

// Of several changes of an article the last counts; that it left a feed on the way is kept.
std::vector<LoggedChange> Collapse(const std::vector<LoggedChange>& changes,
                                   const std::string& ns) {
  std::map<FeedKey, LoggedChange> latest;
  for (const LoggedChange& change : changes) {
    if (change.ns != ns) continue;
    LoggedChange& kept = latest[change.key];
    std::vector<std::string> left = std::move(kept.left_feeds);
    kept = change;
    kept.left_feeds.insert(kept.left_feeds.end(), left.begin(), left.end());
  }
  std::vector<LoggedChange> ordered;
  for (auto& [key, change] : latest) ordered.push_back(std::move(change));
  std::sort(ordered.begin(), ordered.end(),
            [](const LoggedChange& a, const LoggedChange& b) { return a.seq < b.seq; });
  return ordered;
}

std::vector<FeedEvent> ReadEvents(pg::Session& session, const std::string& ns,
                                  const std::string& feed,
                                  const std::vector<LoggedChange>& changes) {
  const std::vector<LoggedChange> ordered = Collapse(changes, ns);
  std::vector<Place> places;
  for (const LoggedChange& change : ordered) places.push_back({ns, feed, change.key});
  std::vector<std::optional<PlacedArticle>> found = ReadPlaces(session, places);
  std::vector<FeedEvent> events;
  for (size_t i = 0; i < ordered.size(); ++i) {
    const LoggedChange& change = ordered[i];
    FeedEvent event;
    event.seq = change.seq;
    event.id = change.key.id;
    if (found[i]) {
      event.entered_at = found[i]->seq;
      event.article = Encode(std::move(found[i]->article));
      event.key = change.key;
    } else if (std::find(change.left_feeds.begin(), change.left_feeds.end(), feed) ==
               change.left_feeds.end()) {
      continue;  // never was there
    }
    events.push_back(std::move(event));
  }
  return events;
}

// What one event is to all who ask the same and know as much: (feed and filter, position, entered,
// history) -> made once, however many watch.
using Made = std::map<std::tuple<uint64_t, int64_t, bool, std::string>, v1::WatchArticlesResponse>;

bool Send(const WatchHub::FeedWatch& watch, const std::vector<FeedEvent>& events, Made& made) {
  for (const FeedEvent& event : events) {
    if (event.seq <= watch.cursor) continue;
    const bool is_there = event.article != nullptr;
    if (is_there && !Passes(watch.query.filter, event.key, *event.article)) continue;
    const bool entered = is_there && event.entered_at > watch.cursor;
    const auto [at, is_new] = made.try_emplace({watch.hash, event.seq, entered, watch.epoch});
    if (is_new) at->second = ToProto(watch.query, event, watch.cursor, watch.epoch);
    if (!watch.subscriber.Send(at->second)) return false;
  }
  return !watch.subscriber.Ended();
}

WatchHub::FeedWatch MakeWatch(const FeedQuery& query, WatchHub::Subscriber subscriber,
                              int64_t cursor, const std::string& epoch) {
  const uint64_t hash = HashFeed(query.ns, query.category, query.filter);
  return {query, hash, std::move(subscriber), cursor, cursor, epoch};
}

}  // namespace

WatchHub::WatchHub(Metrics& metrics)
    : events_(metrics.GetCounter("winnow_newsfeed_watch_changes_total",
                                 "Log changes that were sent to watchers.")),
      watchers_(metrics.GetGauge("winnow_newsfeed_watchers", "Watches of feeds that go on.")) {}

void WatchHub::Add(const FeedQuery& query, Subscriber subscriber, int64_t cursor,
                   const std::string& epoch) {
  watches_[FeedName(query.ns, query.category)].push_back(
      MakeWatch(query, std::move(subscriber), cursor, epoch));
  DropEnded();
}

// A watch until it has caught up.
class WatchHub::Joining final : public MemoryWorker::Joiner {
 public:
  Joining(WatchHub& hub, const FeedQuery& query, const Subscriber& subscriber)
      : hub_(hub), query_(query), subscriber_(subscriber) {}

  bool ended() const override { return subscriber_.Ended(); }
  void SendProgress(const pg::Head& head) override {
    subscriber_.Send(newsfeed::Progress(query_, head.head, head.epoch));
  }
  void SendGap(const pg::Head& head) override {
    subscriber_.Send(Gap(query_, head.head, head.epoch));
  }
  void SendChanges(pg::Session& session, const std::vector<LoggedChange>& changes,
                   const pg::Head& sent) override {
    Made made;
    Send(MakeWatch(query_, subscriber_, sent.head, sent.epoch),
         ReadEvents(session, query_.ns, FeedName(query_.ns, query_.category), changes), made);
  }
  void Join(const pg::Head& sent) override { hub_.Add(query_, subscriber_, sent.head, sent.epoch); }

 private:
  WatchHub& hub_;
  const FeedQuery& query_;
  const Subscriber& subscriber_;
};

Status WatchHub::Watch(MemoryWorker& memory, Deadline deadline, const FeedQuery& query,
                       const Subscriber& subscriber) {
  Joining joining(*this, query, subscriber);
  return memory.Follow(deadline, query, joining);
}

void WatchHub::Publish(pg::Session& session, const std::vector<LoggedChange>& changes,
                       int64_t until) {
  for (auto& [feed, watches] : watches_) {
    if (watches.empty()) continue;
    const std::vector<FeedEvent> events =
        ReadEvents(session, watches.front().query.ns, feed, changes);
    Made made;
    for (FeedWatch& watch : watches) {
      const bool sent = Send(watch, events, made);
      watch.cursor = std::max(watch.cursor, until);
      if (!events.empty()) watch.marked = watch.cursor;
      if (sent) MarkProgress(watch, watch.cursor);
    }
  }
  events_.Increment(static_cast<double>(changes.size()));
  DropEnded();
}

void WatchHub::MarkProgress(FeedWatch& watch, int64_t until) {
  if (until - watch.marked < kMarkEvery) return;
  watch.marked = until;
  watch.subscriber.Send(Progress(watch.query, until, watch.epoch));
}

void WatchHub::AnnounceGap(const pg::Head& head) {
  for (auto& [feed, watches] : watches_) {
    for (FeedWatch& watch : watches) {
      watch.cursor = head.head;
      watch.marked = head.head;
      watch.epoch = head.epoch;
      watch.subscriber.Send(Gap(watch.query, head.head, head.epoch));
    }
  }
  DropEnded();
}

int64_t WatchHub::OldestCursor() const {
  int64_t oldest = std::numeric_limits<int64_t>::max();
  for (const auto& [feed, watches] : watches_) {
    for (const FeedWatch& watch : watches) oldest = std::min(oldest, watch.cursor);
  }
  return oldest;
}

void WatchHub::DropEnded() {
  size_t count = 0;
  for (auto at = watches_.begin(); at != watches_.end();) {
    at->second.remove_if([](const FeedWatch& watch) { return watch.subscriber.Ended(); });
    count += at->second.size();
    at = at->second.empty() ? watches_.erase(at) : std::next(at);
  }
  watchers_.Set(static_cast<double>(count));
}

}  // namespace winnow::newsfeed
