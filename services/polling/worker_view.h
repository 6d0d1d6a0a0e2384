#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "services/platform/metrics.h"
#include "services/platform/redis/client.h"
#include "services/polling/store.h"

namespace winnow::polling {

// The published view: a ZSET for each state of a kind with a view_prefix
// ("stt:polling:processing"), member = id, score = ms of entry into the state, of jobs in flight.
// Written from the store and never read to decide anything. Follows history from the position that
// stands in Redis beside it: what Redis lost, or was set back to, tells itself. Any number of
// processes may write: each looks again at the store after it wrote, so that who wrote late mends
// it; and all is compared now and then, which is what the drift metric shows.
class View {
 public:
  struct Options {
    std::chrono::milliseconds every = std::chrono::milliseconds(500);
    std::chrono::milliseconds repair_every = std::chrono::minutes(1);
  };
  View(Store& store, redis::Client& redis, Metrics& metrics, Options options);
  ~View() { Stop(); }

  void Start();
  void Stop();
  void Wake();
  // One look, as Start does. For tests too.
  Status Look();
  // Compares all with the store and mends what differs; answers how many did.
  StatusOr<int64_t> Repair();

 private:
  using Ids = std::vector<std::string>;
  void Loop();
  Status Follow(int64_t position, const HistoryHead& head);
  // All anew, without asking Redis what it has. `marker`: what stands there now.
  Status Rebuild(const std::string& marker, const HistoryHead& head);
  Status RebuildKind(const ViewOfKind& view);
  Status Project(const ViewOfKind& view, Ids ids);
  Status Write(const ViewOfKind& view, std::span<const std::string> ids,
               const std::map<std::string, ShownJob>& shown);
  StatusOr<Ids> FindMissing(const ViewOfKind& view);
  StatusOr<Ids> FindExtra(const ViewOfKind& view);
  // Those of the ids that Redis shows otherwise than the store does.
  StatusOr<Ids> Differing(const ViewOfKind& view, std::span<const std::string> ids);
  // What older policies showed is shown no more.
  Status DropRetired();
  // Whether it still was `from`.
  StatusOr<bool> MoveMarker(const std::string& from, const std::string& to);

  Store& store_;
  redis::Client& redis_;
  const Options options_;
  Gauge& drift_;
  Counter& rebuilds_;
  Counter& repaired_;
  std::chrono::steady_clock::time_point next_repair_;  // of the thread alone
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool woken_ = false;
  std::thread thread_;
};

}  // namespace winnow::polling
