#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/platform/clock.h"
#include "services/platform/postgres/migrate.h"
#include "services/platform/postgres/pool.h"
#include "services/platform/status.h"
#include "services/polling/machine.h"
#include "services/polling/records.h"

// The schema polling. Commands of single jobs read the row under its lock, ask the machine and
// write what it says; register, claim, heartbeat and sweep are one statement for many jobs, which
// does the same. Time is always polling.now().
namespace winnow::polling {

pg::Migrations StoreMigrations();

class Store {
 public:
  Store(pg::Pool& reads, pg::Pool& writes) : reads_(reads), writes_(writes) {}

  // One answer a job, in order: whether it is new. Ids are distinct. Errors of a job:
  // INVALID_ARGUMENT, ALREADY_EXISTS; of the call: NOT_FOUND.
  StatusOr<std::vector<StatusOr<bool>>> Register(Deadline deadline, const std::string& kind,
                                                 std::span<const NewJob> jobs,
                                                 const std::string& request);
  // NOT_FOUND where the kind is none.
  StatusOr<ClaimResult> Claim(Deadline deadline, const ClaimQuery& query);
  // In order. An unknown job is lost.
  StatusOr<std::vector<Beat>> Heartbeat(Deadline deadline, const std::string& kind,
                                        std::span<const HeldJob> jobs);
  // What the command made of the job. Errors: NOT_FOUND, and the machine's.
  StatusOr<Outcome> Do(Deadline deadline, const JobKey& key, const Command& command,
                       const std::string& request);
  // At most `limit` jobs that are stale by one clock.
  StatusOr<std::vector<StaleJob>> Sweep(Deadline deadline, const std::string& kind,
                                        SweepClock clock, int limit);

  StatusOr<Job> Get(Deadline deadline, const JobKey& key);
  // By id.
  StatusOr<std::vector<Job>> List(Deadline deadline, const ListQuery& query);
  StatusOr<std::vector<NumberedEvent>> ListEvents(Deadline deadline, const JobKey& key,
                                                  int64_t after, int count);

 private:
  pg::Pool& reads_;
  pg::Pool& writes_;
};

}  // namespace winnow::polling
