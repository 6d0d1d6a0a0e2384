#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/classification/runs/run_sql.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::classification {

// A run that this process works on until the lease expires, 30 seconds after its last extension.
struct Lease {
  Run run;
  int64_t video = 0;
  int64_t epoch = 0;  // raised by each new holder
  int64_t input_high = 0;
};

// Runs as their workers use them. Every write checks the lease, and fails with FAILED_PRECONDITION
// once another worker holds it or the run has ended: drop the run then. Thread-safe.
class LeaseStore {
 public:
  LeaseStore(pg::Pool& reads, pg::Pool& writes, const Clock& clock, Micros retention)
      : reads_(reads), writes_(writes), clock_(clock), retention_(retention) {}

  // The oldest run of one of the classifiers that is pending or whose lease expired; none if there
  // is not a such run.
  StatusOr<std::optional<Lease>> LeaseRun(Deadline deadline, const std::string& owner,
                                          std::span<const std::string> classifiers);
  Status ExtendLease(Deadline deadline, const Lease& lease);
  Status ReleaseRun(Deadline deadline, const Lease& lease);
  Status PauseRun(Deadline deadline, const Lease& lease, Failure reason);
  // At most `count` comments of the run's input without an outcome, by number, after `after`.
  StatusOr<std::vector<Comment>> ReadPending(Deadline deadline, const Lease& lease, int64_t after,
                                             int count);
  // Writes outcomes, extends the lease and settles a reservation. Keeps the verdicts under
  // `cache_name` unless it is empty.
  StatusOr<Written> WriteOutcomes(Deadline deadline, const Lease& lease,
                                  std::span<const CommentOutcome> outcomes,
                                  const Settlement& settlement = {},
                                  const std::string& cache_name = "");
  // Reserves what a call may cost. Returns the reservation, or 0 if it exceeds the run's budget.
  StatusOr<int64_t> ReserveCost(Deadline deadline, const Lease& lease, int64_t micros);
  StatusOr<std::vector<CommentOutcome>> ReadCache(Deadline deadline, const std::string& cache_name,
                                                  std::span<const Comment> comments);
  // Deletes at most `limit` kept verdicts older than `retention`; returns how many.
  StatusOr<int64_t> SweepCache(Deadline deadline, int limit);

 private:
  pg::Pool& reads_;
  pg::Pool& writes_;
  const Clock& clock_;
  const Micros retention_;
};

}  // namespace winnow::classification
