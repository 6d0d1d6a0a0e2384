#pragma once

#include <list>
#include <map>
#include <string>
#include <vector>

#include "services/newsfeed/feed/change_sql.h"
#include "services/newsfeed/feed/feed_memory.h"
#include "services/newsfeed/feed/feed_query.h"
#include "services/newsfeed/feed/memory_worker.h"
#include "services/platform/base/status.h"
#include "services/platform/grpc/call/subscriber.h"
#include "services/platform/postgres/log/log_transaction.h"
#include "services/platform/process/metrics.h"
#include "winnow/newsfeed/v1/newsfeed_service.pb.h"

namespace winnow::newsfeed {

// The watches of feeds. MemoryWorker publishes the changes of the log here, in order, and calls all
// methods but Watch under its lock.
class WatchHub final : public MemoryWorker::Followers {
 public:
  using Subscriber = rpc::Subscriber<v1::WatchArticlesResponse>;
  struct FeedWatch {
    FeedQuery query;
    uint64_t hash = 0;  // of feed and filter
    Subscriber subscriber;
    int64_t cursor = 0;  // everything up to here was sent
    int64_t marked = 0;  // the last position whose token was sent
    std::string epoch;
  };

  explicit WatchHub(Metrics& metrics);

  bool empty() const override { return watches_.empty(); }
  // The lowest position sent to every watch; the newest position without watches.
  int64_t OldestCursor() const override;
  // Sends what comes after `cursor` from now on.
  void Add(const FeedQuery& query, Subscriber subscriber, int64_t cursor, const std::string& epoch);
  // Sends every watch what the changes up to `until` did to its feed.
  void Publish(pg::Session& session, const std::vector<LoggedChange>& changes,
               int64_t until) override;
  // Some changes can no longer be sent: every watch continues from `head`.
  void AnnounceGap(const pg::Head& head) override;

  // Sends the subscriber what came after `query.position`, and from then on what comes. Returns
  // when it has caught up. Errors: as MemoryWorker::Follow.
  Status Watch(MemoryWorker& memory, Deadline deadline, const FeedQuery& query,
               const Subscriber& subscriber);

 private:
  class Joining;
  using Watches = std::map<std::string, std::list<FeedWatch>, std::less<>>;  // by feed
  static void MarkProgress(FeedWatch& watch, int64_t until);
  void DropEnded();

  Watches watches_;
  Counter& events_;
  Gauge& watchers_;
};

}  // namespace winnow::newsfeed
