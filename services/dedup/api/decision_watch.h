#pragma once

#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "services/dedup/api/convert.h"
#include "services/dedup/history/history_store.h"
#include "services/platform/grpc/call/subscriber.h"
#include "services/platform/postgres/log/log_transaction.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::dedup {

// Feeds everybody who watches decisions: one thread follows the logs that are watched, and reads
// each page once for all who are at the same place. A watcher that catches up is given the next
// page when it has taken the last one.
class DecisionWatch {
 public:
  using Subscriber = rpc::Subscriber<v1::WatchDecisionsResponse>;

  explicit DecisionWatch(pg::Pool& reads) : reads_(reads) {}
  ~DecisionWatch();  // stops

  void Start();
  void Stop();
  // There may be new decisions: called after a commit of this process. Those of others are found
  // by looking, ten times a second while anybody watches.
  void Wake();
  // Error: RESOURCE_EXHAUSTED.
  Status Add(WatchQuery query, Subscriber subscriber);

 private:
  struct Watcher {
    WatchQuery query;
    Subscriber subscriber;
    bool is_greeted = false;
    bool has_gap = false;  // not told yet
  };
  using Group = std::vector<std::list<Watcher>::iterator>;

  void Run();
  void FeedAll();
  Status FeedNamespace(const std::string& ns, const Group& group);
  bool FeedPage(const std::string& ns, const pg::Head& head, int64_t after, const Group& group);
  static void Place(Watcher& watcher, const pg::Head& head);
  static bool Send(Watcher& watcher, const std::vector<NumberedDecision>& decisions,
                   int64_t reached);

  pg::Pool& reads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Watcher> new_;  // not yet seen by the thread
  size_t count_ = 0;
  bool stopping_ = false;
  bool woken_ = false;
  std::list<Watcher> watchers_;  // of the thread alone
  bool has_more_ = false;        // there are pages to read at once
  std::thread thread_;
};

}  // namespace winnow::dedup
