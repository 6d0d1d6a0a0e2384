#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "services/newsfeed/feed_memory.h"
#include "services/newsfeed/store.h"
#include "services/newsfeed/store_changes.h"
#include "services/newsfeed/worker_watch.h"
#include "services/platform/metrics.h"
#include "services/platform/postgres/pool.h"
#include "services/platform/postgres/tailer.h"
#include "services/platform/status.h"

namespace winnow::newsfeed {

// Keeps FeedMemory true: one tailer applies the log to it in order, and one thread fills feeds that
// are asked for, each once however many ask. Both change it under one lock, so that nothing that
// happens between a fill's snapshot and its place in memory is lost.
class MemoryKeeper {
 public:
  // What a tier before the store has of a feed (namespace, category); nothing for none.
  using ColdRead =
      std::function<std::optional<FeedFill>(const std::string& ns, const std::string& category)>;

  MemoryKeeper(pg::Pool& reads, Store& store, FeedMemory& memory, WatchHub& hub, int fill_size,
               Metrics& metrics);
  ~MemoryKeeper();  // stops

  // Before Start: where cold feeds are looked for first.
  void SetColdRead(ColdRead read) { cold_read_ = std::move(read); }
  void Start();
  void Stop();

  // Has the feed read into memory soon, unless that is under way. Never blocks.
  void RequestFill(const std::string& ns, const std::string& category);
  // Has the feed read into memory from the store now. Errors: those of the store.
  Status Refill(Deadline deadline, const std::string& ns, const std::string& category);
  // Waits until memory shows what was committed up to `position`, at most until the deadline.
  // Whether it does.
  bool Await(int64_t position, Deadline deadline);
  // Tells the subscriber what came after `query.position`, and from then on what comes. Returns
  // when it is up to date. Errors: those of the store; NOT_FOUND for a feed of no category.
  Status Watch(Deadline deadline, const FeedQuery& query, const WatchHub::Subscriber& subscriber);
  // False while the store cannot be read, so that memory may be behind.
  bool healthy() const { return tailer_.healthy(); }

 private:
  using Feed = std::pair<std::string, std::string>;  // namespace, category

  StatusOr<int64_t> Apply(pg::Session& session, int64_t after, int64_t until, int limit);
  StatusOr<bool> TellAndAdd(pg::Session& session, const FeedQuery& query,
                            const WatchHub::Subscriber& subscriber, pg::Head& told);
  void ApplyChanges(pg::Session& session, const std::vector<LoggedChange>& changes);
  StatusOr<pg::Head> Reload(pg::Session& session);
  void FillLoop();
  void Fill(const Feed& feed);
  Status FillFromStore(Deadline deadline, const Feed& feed);
  StatusOr<bool> CatchUp(pg::Session& session, const std::string& feed, FeedFill& fill);

  Store& store_;
  pg::Pool& reads_;
  FeedMemory& memory_;
  WatchHub& hub_;  // under change_mutex_
  const int fill_size_;
  ColdRead cold_read_;
  Counter& fills_;
  Counter& cold_fills_;
  Counter& failed_fills_;
  Counter& applied_;
  std::mutex change_mutex_;  // over reading for, and changing, memory_
  std::mutex mutex_;
  std::condition_variable wake_;      // of the filler
  std::condition_variable advanced_;  // of who awaits a position
  std::deque<Feed> queue_;
  std::set<Feed> requested_;  // in queue_, or being filled
  bool stopping_ = false;
  std::thread filler_;
  pg::Tailer tailer_;
  std::vector<std::shared_ptr<void>> gauges_;  // last: they read the above
};

}  // namespace winnow::newsfeed
