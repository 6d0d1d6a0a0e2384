#pragma once

#include <chrono>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "services/platform/process/metrics.h"
#include "services/platform/process/periodic_thread.h"
#include "services/platform/redis/client.h"
#include "services/platform/redis/foreign_keys.h"
#include "services/platform/redis/ownership.h"
#include "services/polling/jobs/job_store.h"

namespace winnow::polling {

// "stt:polling:processing". It never expires, as the published design has it.
redis::PublishedKey ViewKey(const ViewOfKind& view, const std::string& state);

// The published view: a ZSET for each state of a kind with a view_prefix
// ("stt:polling:processing"), member = id, score = ms of entry into the state, of jobs in flight.
// Written from the store and never read to decide anything. Follows history from the position that
// stands in Redis beside it: a loss or a rollback of Redis is therefore detected. Any number of
// processes may write: each looks again at the store after it wrote, so that a late writer repairs
// it; and all is compared now and then, which is what the drift metric shows. A key that is gone is
// written again at once. A kind of which another program has a key is not written
// (redis/ownership.h).
class ViewWorker {
 public:
  struct Options {
    std::chrono::milliseconds every = std::chrono::milliseconds(500);
    std::chrono::milliseconds repair_every = std::chrono::seconds(45);
    bool adopt = false;  // keys of other programs, once
  };
  ViewWorker(JobStore& store, redis::Client& redis, Metrics& metrics, Options options);
  ~ViewWorker() { Stop(); }

  void Start();
  void Stop() { thread_.Stop(); }
  void Wake() { thread_.Wake(); }
  // One look, as Start does. For tests too.
  Status Look();
  // Compares everything with the store and corrects it; returns how many entries differed.
  StatusOr<int64_t> Repair();
  // A health probe: an error while keys of other programs stop a kind's view.
  Status CheckKeys() const { return foreign_.Check(); }

 private:
  using Ids = std::vector<std::string>;
  using Views = std::vector<ViewOfKind>;
  Status LookAndRepair();
  Status Follow(int64_t position, const HistoryHead& head, const Views& views);
  // All anew, without asking Redis what it has. `marker`: what stands there now.
  Status Rebuild(const std::string& marker, const HistoryHead& head, const Views& views);
  Status RebuildKind(const ViewOfKind& view);
  // The same, and what does not belong there is taken out.
  Status RewriteKind(const ViewOfKind& view);
  Status AdoptKeys();
  // The kinds' views that no key of another program stops. One that goes on is written anew.
  StatusOr<Views> WritableViews();
  // `is_ours`: the marker says that a build without records of ownership wrote the view.
  Status ClaimLegacyKeys(bool is_ours);
  StatusOr<bool> HoldsKnownJobsOnly(const ViewOfKind& view, const std::string& state);
  // Writes views anew of which Redis lost a key.
  Status RestoreLost(const Views& views);
  Status Apply(const ViewOfKind& view, std::span<const redis::ScriptCall> calls);
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

  JobStore& store_;
  redis::Client& redis_;
  const Options options_;
  Gauge& drift_;
  Counter& rebuilds_;
  Counter& repaired_;
  redis::ForeignKeys foreign_;
  // Of the thread alone:
  std::chrono::steady_clock::time_point next_repair_;
  std::set<std::string> stopped_;  // kinds
  std::set<std::string> present_;  // keys that were there at the last look
  bool adopted_ = false;
  bool failed_before_ = false;  // logged once
  PeriodicThread thread_;
};

}  // namespace winnow::polling
