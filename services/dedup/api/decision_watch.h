#pragma once

#include <chrono>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "services/dedup/api/convert.h"
#include "services/dedup/history/history_store.h"
#include "services/platform/grpc/call/subscriber.h"
#include "services/platform/grpc/call/watch_loop.h"
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

  void Start() {
    loop_.Start([this](std::list<Watcher>& watchers) { return Serve(watchers); });
  }
  void Stop() { loop_.Stop(); }
  // There may be new decisions: called after a commit of this process.
  void Wake() { loop_.Wake(); }
  // Errors: as WatchLoop::Add.
  Status Add(WatchQuery query, Subscriber subscriber) {
    return loop_.Add({std::move(query), std::move(subscriber)});
  }

 private:
  static constexpr size_t kMaxWatches = 1'000;
  static constexpr std::chrono::milliseconds kPoll{100};

  struct Watcher {
    WatchQuery query;
    Subscriber subscriber;
    bool is_greeted = false;
    bool has_gap = false;  // not sent yet
  };
  using Group = std::vector<std::list<Watcher>::iterator>;

  bool Serve(std::list<Watcher>& watchers);
  Status FeedNamespace(const std::string& ns, const Group& group);
  bool FeedPage(const std::string& ns, const pg::Head& head, int64_t after, const Group& group);
  static void Place(Watcher& watcher, const pg::Head& head);
  static bool Send(Watcher& watcher, const std::vector<NumberedDecision>& decisions,
                   int64_t reached);

  pg::Pool& reads_;
  bool has_more_ = false;  // of the loop's thread: there are pages to read at once
  rpc::WatchLoop<Watcher> loop_{{"WatchDecisions", kMaxWatches, kPoll}};  // last: uses the above
};

}  // namespace winnow::dedup
