#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "services/newsfeed/articles/commit_position.h"
#include "services/newsfeed/feed/change_sql.h"
#include "services/newsfeed/feed/feed_memory.h"
#include "services/newsfeed/feed/feed_query.h"
#include "services/newsfeed/feed/feed_store.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/log/tailer.h"
#include "services/platform/postgres/pool/pool.h"
#include "services/platform/process/metrics.h"

namespace winnow::newsfeed {

// Keeps FeedMemory true: one tailer applies the log to it in order, and one thread fills feeds that
// are asked for, each once however many ask. Both change it under one lock, so that nothing that
// happens between a fill's snapshot and its place in memory is lost.
class MemoryWorker {
 public:
  // What a tier before the store has of a feed (namespace, category); nothing for none.
  using ColdRead =
      std::function<std::optional<FeedFill>(const std::string& ns, const std::string& category)>;

  // Those who follow the log with it: watches (api/watch_hub.h). Called under one lock.
  class Followers {
   public:
    virtual bool empty() const = 0;
    // The lowest position that a follower is at; the maximum of int64_t if there is none.
    virtual int64_t OldestCursor() const = 0;
    // The changes up to `until`, in order.
    virtual void Publish(pg::Session& session, const std::vector<LoggedChange>& changes,
                         int64_t until) = 0;
    // Changes before `head` cannot be read any more: everyone continues from there.
    virtual void AnnounceGap(const pg::Head& head) = 0;

   protected:
    ~Followers() = default;
  };
  // One that reads the log by itself until it has caught up, and follows from then on.
  class Joiner {
   public:
    virtual bool ended() const = 0;
    virtual void SendProgress(const pg::Head& head) = 0;
    virtual void SendGap(const pg::Head& head) = 0;
    virtual void SendChanges(pg::Session& session, const std::vector<LoggedChange>& changes,
                             const pg::Head& sent) = 0;
    // Called once, under the lock: everything up to `sent` was sent.
    virtual void Join(const pg::Head& sent) = 0;

   protected:
    ~Joiner() = default;
  };

  MemoryWorker(pg::Pool& reads, FeedStore& store, FeedMemory& memory, Followers& followers,
               int fill_size, Metrics& metrics);
  ~MemoryWorker();  // stops

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
  // So that a caller that writes and then reads here sees what it wrote: waits as Await for what
  // this process committed, 200 ms at most. Other processes follow in milliseconds.
  void AwaitCommitted(const CommitPosition& last_commit, Deadline deadline);
  // Sends `joiner` what was committed after `query.position` and has it follow. Returns when it has
  // caught up. Errors: those of the store; NOT_FOUND for a category that does not exist.
  Status Follow(Deadline deadline, const FeedQuery& query, Joiner& joiner);
  // False while the store cannot be read, so that memory may be behind.
  bool healthy() const { return tailer_.healthy(); }

 private:
  using Feed = std::pair<std::string, std::string>;  // namespace, category

  StatusOr<int64_t> Apply(pg::Session& session, int64_t after, int64_t until, int limit);
  StatusOr<bool> CatchUpAndJoin(pg::Session& session, Joiner& joiner, pg::Head& sent);
  void ApplyChanges(pg::Session& session, const std::vector<LoggedChange>& changes);
  StatusOr<pg::Head> Reload(pg::Session& session);
  void FillLoop();
  void Fill(const Feed& feed);
  Status FillFromStore(Deadline deadline, const Feed& feed);
  StatusOr<bool> CatchUp(pg::Session& session, const std::string& feed, FeedFill& fill);

  FeedStore& store_;
  pg::Pool& reads_;
  FeedMemory& memory_;
  Followers& followers_;  // under change_mutex_
  const int fill_size_;
  ColdRead cold_read_;
  Counter& fills_;
  Counter& cold_fills_;
  Counter& failed_fills_;
  Counter& applied_;
  std::mutex change_mutex_;  // over reading for, and changing, memory_
  std::mutex mutex_;
  std::condition_variable_any wake_;      // of the filler
  std::condition_variable_any advanced_;  // of who awaits a position
  std::deque<Feed> queue_;
  std::set<Feed> requested_;  // in queue_, or being filled
  std::stop_source stop_;
  std::jthread filler_;
  pg::Tailer tailer_;
  std::vector<std::shared_ptr<void>> gauges_;  // last: they read the above
};

}  // namespace winnow::newsfeed
