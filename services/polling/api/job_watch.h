#pragma once

#include <chrono>
#include <list>
#include <utility>

#include "services/platform/grpc/call/subscriber.h"
#include "services/platform/grpc/call/watch_loop.h"
#include "services/polling/api/convert.h"
#include "services/polling/jobs/job_store.h"

namespace winnow::polling {

// Feeds everybody who watches jobs: one thread follows history by position. A watcher that catches
// up is given the next page when it has taken the last one.
class JobWatch {
 public:
  using Subscriber = rpc::Subscriber<v1::WatchJobsResponse>;

  explicit JobWatch(JobStore& store) : store_(store) {}

  void Start() {
    loop_.Start([this](std::list<Watcher>& watchers) { return Serve(watchers); });
  }
  void Stop() { loop_.Stop(); }
  // There may be new rows: called after a commit of this process.
  void Wake() { loop_.Wake(); }
  // Errors: as WatchLoop::Add.
  Status Add(WatchQuery query, Subscriber subscriber) {
    return loop_.Add({std::move(query), std::move(subscriber)});
  }

 private:
  static constexpr size_t kMaxWatches = 200;
  static constexpr std::chrono::milliseconds kPoll{200};

  struct Watcher {
    WatchQuery query;
    Subscriber subscriber;
    bool is_greeted = false;
  };

  bool Serve(std::list<Watcher>& watchers);
  // Both return whether there is more to send.
  StatusOr<bool> FeedAll(std::list<Watcher>& watchers);
  StatusOr<bool> Feed(Watcher& watcher, const HistoryHead& head);

  JobStore& store_;
  rpc::WatchLoop<Watcher> loop_{{"WatchJobs", kMaxWatches, kPoll}};  // last: ends before the store
};

}  // namespace winnow::polling
