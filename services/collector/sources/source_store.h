#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/collector/sources/opml.h"
#include "services/collector/sources/schedule.h"
#include "services/collector/sources/source.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/function_ref.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::collector {

inline constexpr int64_t kMaxSources = 50'000;

struct RunQuery {
  std::string source_id;  // empty: all
  std::string before;     // runs with a smaller id; empty: from the last
  int limit = 50;
};

// A process's turn to run a source.
struct Claim {
  Source source;
  bool requested = false;
  Time begin_time{};
};

// Sources, their runs, and who runs them. Times are the database's. Errors of every method: as
// pg::Pool.
class SourceStore {
 public:
  // The pools outlive the store.
  SourceStore(pg::Pool& reads, pg::Pool& writes) : reads_(reads), writes_(writes) {}

  // Stores an accepted source that runs at once. The same source again is answered as it stands.
  // Errors: ALREADY_EXISTS, OVERLOADED (too many).
  StatusOr<Source> Create(Deadline deadline, const Source& source);
  StatusOr<Source> Get(Deadline deadline, const std::string& id);
  // Those after `after`, by id.
  StatusOr<std::vector<Source>> List(Deadline deadline, const std::string& ns,
                                     const std::string& after, int limit);
  // Reads the source, changes it by `change` and writes it back with a new revision. NOT_FOUND, or
  // what `change` answers.
  StatusOr<Source> Update(Deadline deadline, const std::string& id,
                          FunctionRef<Status(Source&)> change);
  // Whether there was one.
  StatusOr<bool> Delete(Deadline deadline, const std::string& id);
  // The id of the run that is asked for: `run_id`, or of the one that was asked for before, which
  // is the one of this request where that was sent before; no request: empty.
  StatusOr<std::string> RequestRun(Deadline deadline, const std::string& id,
                                   const std::string& run_id, const std::string& request);
  // How many of these feeds were created; `example` has what is the same for all.
  StatusOr<int64_t> CreateFeeds(Deadline deadline, const Source& example,
                                const std::vector<OpmlFeed>& feeds, bool folders);

  StatusOr<std::vector<Run>> ListRuns(Deadline deadline, const RunQuery& query);
  // Runs with a position after this one, in its order.
  StatusOr<std::vector<Run>> RunsAfter(Deadline deadline, int64_t position, int limit);
  StatusOr<RunsHead> ReadHead(Deadline deadline);

  // Whether this process, `holder`, is the one that runs sources; if so, the database's time.
  StatusOr<std::optional<Time>> TakeLease(Deadline deadline, const std::string& holder,
                                          std::chrono::milliseconds lease);
  Status ReleaseLease(Deadline deadline, const std::string& holder);
  // Ends, as partial, the runs of processes that lost the lease; how many.
  StatusOr<int64_t> EndLostRuns(Deadline deadline, const std::string& holder);
  // Takes sources whose time has come, at most as many as there are ids for runs.
  StatusOr<std::vector<Claim>> ClaimDue(Deadline deadline, const std::string& holder,
                                        const std::vector<std::string>& run_ids);
  // Ends a run, unless it was ended as lost: false then.
  StatusOr<bool> EndRun(Deadline deadline, const Source& source, const Run& run,
                        const NextRun& next);
  // Deletes up to 1,000 runs that ended before `retention` ago, and as many requests of runs that
  // were made before; how many.
  StatusOr<int64_t> DeleteOldRuns(Deadline deadline, std::chrono::seconds retention);

  // For the metrics, of active sources of one kind.
  struct KindState {
    SourceKind kind = SourceKind::kNone;
    int64_t active = 0;
    int64_t blocked = 0;
    double oldest_success_seconds = 0;  // of the source that has waited longest for a success
    double most_overdue_seconds = 0;
  };
  StatusOr<std::vector<KindState>> ReadKinds(Deadline deadline);

 private:
  pg::Pool& reads_;
  pg::Pool& writes_;
};

}  // namespace winnow::collector
