#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/log/sequencer.h"
#include "services/platform/postgres/pool/pool.h"
#include "services/platform/postgres/schema/migrate.h"
#include "services/polling/jobs/job_records.h"
#include "services/polling/jobs/machine.h"

// The schema polling. Commands of single jobs read the row under its lock, ask the machine and
// write what it says; register, claim, heartbeat and sweep are one statement for many jobs, which
// does the same. Time is always polling.now().
namespace winnow::polling {

pg::Migrations StoreMigrations();
// Positions of history.
pg::Sequence EventSequence();

class JobStore {
 public:
  JobStore(pg::Pool& reads, pg::Pool& writes) : reads_(reads), writes_(writes) {}

  // One answer a job, in order: whether it is new. Ids are distinct. Errors of a job:
  // INVALID_ARGUMENT, ALREADY_EXISTS; of the call: NOT_FOUND.
  StatusOr<std::vector<StatusOr<bool>>> Register(Deadline deadline, const std::string& kind,
                                                 std::span<const NewJob> jobs,
                                                 const std::string& request);
  // One answer a job, in order. Ids are distinct. A dry run writes nothing. Errors of a job: those
  // of the machine; of the call: NOT_FOUND.
  StatusOr<std::vector<StatusOr<ImportResult>>> Import(Deadline deadline, const std::string& kind,
                                                       std::span<const JobToImport> jobs,
                                                       const ImportNote& note, bool dry_run);
  // NOT_FOUND where the kind is none.
  StatusOr<ClaimResult> Claim(Deadline deadline, const ClaimQuery& query);
  // In order. An unknown job is lost.
  StatusOr<std::vector<HeartbeatResult>> Heartbeat(Deadline deadline, const std::string& kind,
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

  // --- Kinds ---
  StatusOr<std::vector<KindToSweep>> ListKinds(Deadline deadline);
  // All of it was swept: not again before its interval has passed.
  Status SetSwept(Deadline deadline, const std::string& kind);
  // Version 0 is the one in force. NOT_FOUND.
  StatusOr<PolicyVersion> GetPolicy(Deadline deadline, const std::string& kind, int64_t version);
  // Makes a kind that is not there. Errors: INVALID_ARGUMENT, ABORTED (STALE_ETAG),
  // FAILED_PRECONDITION (too many kinds; a job in flight in a state that would be gone).
  StatusOr<PolicyVersion> UpdatePolicy(Deadline deadline, const PolicyUpdate& update);
  // What a sweep by `policy` would take now.
  StatusOr<std::vector<WouldSweep>> PreviewPolicy(Deadline deadline, const std::string& kind,
                                                  const Policy& policy, int most_ids);
  // The clock as it is then.
  StatusOr<KindClock> SetPaused(Deadline deadline, const std::string& kind, bool paused,
                                const std::string& actor, const std::string& note);
  // With ended jobs, whose number has no bound, or without.
  StatusOr<KindStats> GetStats(Deadline deadline, const std::string& kind, bool with_ended);

  // --- Operators ---
  // Buried jobs that came back; reason kNone: of any. Those in states that the kind has no more
  // stay. A request that was done answers what it did. NOT_FOUND where the kind is none.
  StatusOr<Touched> Kick(Deadline deadline, const std::string& kind, StaleReason reason, int limit,
                         const AuditNote& note);
  StatusOr<Touched> Purge(Deadline deadline, const PurgeQuery& query, const AuditNote& note);
  // Deletes at most `limit` jobs that ended, other than buried, before their kind's retention ago;
  // how many.
  StatusOr<int64_t> Expire(Deadline deadline, const std::string& kind, int limit);

  // --- History by position, and what the view shows ---
  StatusOr<HistoryHead> ReadHead(Deadline deadline);
  StatusOr<std::vector<PlacedEvent>> ReadHistory(Deadline deadline, int64_t after, int64_t until,
                                                 int count);
  StatusOr<std::vector<ViewOfKind>> ListViews(Deadline deadline);
  // How many of the ids are of jobs of the kind, in whatever state. They are distinct.
  StatusOr<int64_t> CountKnown(Deadline deadline, const std::string& kind,
                               std::span<const std::string> ids);
  // Whether the view shows a job of the kind in the state.
  StatusOr<bool> ShowsState(Deadline deadline, const std::string& kind, const std::string& state);
  // Keys of views that older policies had and no policy has now.
  StatusOr<std::vector<std::string>> ListRetiredKeys(Deadline deadline);
  // Those of the ids that are in flight, by id; likewise a page of them all.
  StatusOr<std::map<std::string, ShownJob>> ReadShown(Deadline deadline, const std::string& kind,
                                                      std::span<const std::string> ids);
  StatusOr<std::map<std::string, ShownJob>> ReadShownPage(Deadline deadline,
                                                          const std::string& kind,
                                                          const std::string& after, int count);

 private:
  pg::Pool& reads_;
  pg::Pool& writes_;
};

}  // namespace winnow::polling
