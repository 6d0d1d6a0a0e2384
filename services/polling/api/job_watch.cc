#include "services/polling/api/job_watch.h"

#include <algorithm>

#include "services/platform/grpc/errors/rpc_status.h"
#include "services/platform/process/log.h"

namespace winnow::polling {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kMostWatchers = 200;
constexpr int kPage = 500;
constexpr milliseconds kLookEvery(200);
constexpr milliseconds kNextPage(2);  // a reader takes one in less
constexpr std::chrono::seconds kReadTime(10);
constexpr milliseconds kRetryAfter(1000);

}  // namespace

void JobWatch::Start() {
  thread_ = std::thread([this] { Run(); });
}

void JobWatch::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  watchers_.splice(watchers_.end(), new_);
  for (const Watcher& watcher : watchers_) watcher.subscriber.End(rpc::ShuttingDown());
  watchers_.clear();
}

void JobWatch::Wake() {
  {
    const std::lock_guard lock(mutex_);
    if (count_ == 0) return;
    woken_ = true;
  }
  changed_.notify_all();
}

Status JobWatch::Add(WatchQuery query, Subscriber subscriber) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return rpc::ShuttingDown();
    if (count_ >= kMostWatchers)
      return Overloaded("this server has " + std::to_string(kMostWatchers) +
                            " WatchJobs calls, its limit: retry after the delay in RetryInfo",
                        kRetryAfter);
    ++count_;
    woken_ = true;
    new_.push_back({std::move(query), std::move(subscriber)});
  }
  changed_.notify_all();
  return OkStatus();
}

void JobWatch::Run() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      const auto is_due = [this] { return stopping_ || woken_; };
      if (has_more_) {
        changed_.wait_for(lock, kNextPage, [this] { return stopping_; });
      } else if (count_ == 0) {
        changed_.wait(lock, is_due);
      } else {
        changed_.wait_for(lock, kLookEvery, is_due);
      }
      if (stopping_) return;
      woken_ = false;
      watchers_.splice(watchers_.end(), new_);
    }
    const Status fed = FeedAll();
    // The store is away: watchers wait where they are.
    if (!fed.ok()) log::Warn("polling: jobs cannot be watched now", {{"error", fed.ToString()}});
    const size_t before = watchers_.size();
    watchers_.remove_if([](const Watcher& each) { return each.subscriber.Ended(); });
    const std::lock_guard lock(mutex_);
    count_ -= before - watchers_.size();
  }
}

Status JobWatch::FeedAll() {
  has_more_ = false;
  WINNOW_ASSIGN_OR_RETURN(const HistoryHead head, store_.ReadHead(steady_clock::now() + kReadTime));
  for (Watcher& watcher : watchers_) WINNOW_RETURN_IF_ERROR(Feed(watcher, head));
  return OkStatus();
}

Status JobWatch::Feed(Watcher& watcher, const HistoryHead& head) {
  WatchQuery& query = watcher.query;
  if (!query.epoch.empty() && query.epoch != head.epoch) {
    watcher.subscriber.End(HistoryGone());
    return OkStatus();
  }
  // A new one begins at the head.
  query.after = std::clamp<int64_t>(query.after.value_or(head.position), 0, head.position);
  if (*query.after == head.position && watcher.is_greeted) return OkStatus();
  query.epoch = head.epoch;
  if (!watcher.subscriber.Idle()) {
    has_more_ = true;
    return OkStatus();
  }
  WINNOW_ASSIGN_OR_RETURN(
      const auto events,
      store_.ReadHistory(steady_clock::now() + kReadTime, *query.after, head.position, kPage));
  const bool is_whole = events.size() < static_cast<size_t>(kPage);
  has_more_ = has_more_ || !is_whole;
  query.after = is_whole ? head.position : events.back().position;
  v1::WatchJobsResponse response;
  for (const PlacedEvent& each : events) {
    if (query.Covers(each.event.key)) *response.add_events() = ToProto(each.event);
  }
  // What was passed over is told too, so that a token does not stay behind.
  response.set_resume_token(ResumeToken(query));
  watcher.is_greeted = true;
  watcher.subscriber.Send(std::move(response));
  return OkStatus();
}

}  // namespace winnow::polling
