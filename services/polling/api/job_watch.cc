#include "services/polling/api/job_watch.h"

#include <algorithm>

#include "services/platform/process/log.h"

namespace winnow::polling {
namespace {

using std::chrono::steady_clock;

constexpr int kPage = 500;
constexpr std::chrono::seconds kReadTime(10);

}  // namespace

bool JobWatch::Serve(std::list<Watcher>& watchers) {
  const StatusOr<bool> has_more = FeedAll(watchers);
  if (!has_more.ok()) {
    log::Warn("polling: the store cannot be read: watches of jobs resume when it can",
              {{"error", has_more.status().ToString()}});
  }
  watchers.remove_if([](const Watcher& each) { return each.subscriber.Ended(); });
  return has_more.ok() && *has_more;
}

StatusOr<bool> JobWatch::FeedAll(std::list<Watcher>& watchers) {
  WINNOW_ASSIGN_OR_RETURN(const HistoryHead head, store_.ReadHead(steady_clock::now() + kReadTime));
  bool has_more = false;
  for (Watcher& watcher : watchers) {
    WINNOW_ASSIGN_OR_RETURN(const bool more, Feed(watcher, head));
    has_more = has_more || more;
  }
  return has_more;
}

StatusOr<bool> JobWatch::Feed(Watcher& watcher, const HistoryHead& head) {
  WatchQuery& query = watcher.query;
  if (!query.epoch.empty() && query.epoch != head.epoch) {
    watcher.subscriber.End(HistoryGone());
    return false;
  }
  // A new one begins at the head.
  query.after = std::clamp<int64_t>(query.after.value_or(head.position), 0, head.position);
  if (*query.after == head.position && watcher.is_greeted) return false;
  query.epoch = head.epoch;
  if (!watcher.subscriber.Idle()) return true;
  WINNOW_ASSIGN_OR_RETURN(
      const auto events,
      store_.ReadHistory(steady_clock::now() + kReadTime, *query.after, head.position, kPage));
  const bool is_whole = events.size() < static_cast<size_t>(kPage);
  query.after = is_whole ? head.position : events.back().position;
  v1::WatchJobsResponse response;
  for (const PlacedEvent& each : events) {
    if (query.Covers(each.event.key)) *response.add_events() = ToProto(each.event);
  }
  // Skipped entries advance the token too.
  response.set_resume_token(ResumeToken(query));
  watcher.is_greeted = true;
  watcher.subscriber.Send(std::move(response));
  return !is_whole;
}

}  // namespace winnow::polling
