#pragma once

#include <list>
#include <map>
#include <string>
#include <vector>

#include "services/newsfeed/feed_memory.h"
#include "services/newsfeed/feed_query.h"
#include "services/newsfeed/store_changes.h"
#include "services/platform/grpc/watch.h"
#include "services/platform/metrics.h"
#include "services/platform/postgres/log_transaction.h"
#include "services/platform/status.h"
#include "winnow/newsfeed/v1/newsfeed_service.pb.h"

namespace winnow::newsfeed {

// Who watches which feed. What happens to the log is published here, in order, by whoever applies
// it (worker_memory.h), under whose lock all of this is called.
class WatchHub {
 public:
  using Subscriber = rpc::Subscriber<v1::WatchArticlesResponse>;
  struct Watch {
    FeedQuery query;
    uint64_t hash = 0;  // of feed and filter
    Subscriber subscriber;
    int64_t cursor = 0;  // told everything up to here
    int64_t marked = 0;  // the last position whose token was sent
    std::string epoch;
  };

  explicit WatchHub(Metrics& metrics);

  bool empty() const { return watches_.empty(); }
  // The first position that everybody has been told; the last there is when nobody watches.
  int64_t OldestCursor() const;
  // Sends what comes after `cursor` from now on.
  void Add(const FeedQuery& query, Subscriber subscriber, int64_t cursor, const std::string& epoch);
  // Tells everybody what the changes up to `until` did to their feeds.
  void Publish(pg::Session& session, const std::vector<LoggedChange>& changes, int64_t until);
  // Some changes can never be told: everybody goes on from `head`.
  void AnnounceGap(const pg::Head& head);

  // What the changes did to the feed of `query`, for one subscriber, who has been told everything
  // up to `cursor`. False when it has gone.
  static bool Tell(pg::Session& session, const FeedQuery& query,
                   const std::vector<LoggedChange>& changes, int64_t cursor,
                   const std::string& epoch, const Subscriber& subscriber);

 private:
  using Watches = std::map<std::string, std::list<Watch>, std::less<>>;  // by feed
  static void MarkProgress(Watch& watch, int64_t until);
  void DropEnded();

  Watches watches_;
  Counter& events_;
  Gauge& watchers_;
};

}  // namespace winnow::newsfeed
