#pragma once

#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "services/platform/grpc/call/subscriber.h"
#include "services/polling/api/convert.h"
#include "services/polling/jobs/job_store.h"

namespace winnow::polling {

// Feeds everybody who watches jobs: one thread follows history by position. A watcher that catches
// up is given the next page when it has taken the last one.
class JobWatch {
 public:
  using Subscriber = rpc::Subscriber<v1::WatchJobsResponse>;

  explicit JobWatch(JobStore& store) : store_(store) {}
  ~JobWatch() { Stop(); }

  void Start();
  void Stop();
  // There may be new rows: called after a commit of this process. Those of others are found by
  // looking, a few times a second while anybody watches.
  void Wake();
  // RESOURCE_EXHAUSTED.
  Status Add(WatchQuery query, Subscriber subscriber);

 private:
  struct Watcher {
    WatchQuery query;
    Subscriber subscriber;
    bool is_greeted = false;
  };

  void Run();
  Status FeedAll();
  Status Feed(Watcher& watcher, const HistoryHead& head);

  JobStore& store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Watcher> new_;  // not yet seen by the thread
  size_t count_ = 0;
  bool stopping_ = false;
  bool woken_ = false;
  std::list<Watcher> watchers_;  // of the thread alone
  bool has_more_ = false;
  std::thread thread_;
};

}  // namespace winnow::polling
