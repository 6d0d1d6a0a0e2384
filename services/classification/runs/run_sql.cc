#include "services/classification/runs/run_sql.h"

namespace winnow::classification {
namespace {

// A run and its video, locked in this order, and read as they are once the locks are held. Writers
// of a run take turns: each counts from what the one before left.
#define WINNOW_LOCKED_RUN                                                                        \
  "SELECT " WINNOW_RUN_COLUMNS                                                                   \
  ", r.video, coalesce(w.active_run, 0), coalesce(w.previous_run, 0), r.input_high, "            \
  "r.lease_epoch FROM classification.videos w JOIN classification.runs r ON r.video = w.number " \
  "WHERE r.id = $1"
constexpr pg::Statement kReadRun{"classification.read_run", WINNOW_LOCKED_RUN};
constexpr pg::Statement kShareRun{"classification.share_run",
                                  WINNOW_LOCKED_RUN " FOR SHARE OF w FOR NO KEY UPDATE OF r"};
constexpr pg::Statement kLockRun{
    "classification.lock_run", WINNOW_LOCKED_RUN " FOR NO KEY UPDATE OF w FOR NO KEY UPDATE OF r"};
constexpr pg::Statement kSetState{
    "classification.set_run_state",
    "UPDATE classification.runs SET state = $2::smallint, pause_reason = $3, lease_until = NULL, "
    "end_time = CASE WHEN $2::smallint = 5 THEN $4::timestamptz ELSE end_time END WHERE id = $1"};

StatusOr<LockedRun> ReadLocked(pg::Session& session, int64_t run, const pg::Statement& statement) {
  const pqxx::result rows = session.Execute(statement, run);
  if (rows.empty()) return NotFound("run", std::to_string(run));
  const pqxx::row row = rows[0];
  return LockedRun{ToRun(row),
                   row[kRunColumns].as<int64_t>(),
                   row[kRunColumns + 1].as<int64_t>(),
                   row[kRunColumns + 2].as<int64_t>(),
                   row[kRunColumns + 3].as<int64_t>(),
                   row[kRunColumns + 4].as<int64_t>()};
}

}  // namespace

Run ToRun(const pqxx::row& row) {
  Run run;
  run.id = row[0].as<int64_t>();
  run.video = {row[1].as<std::string>(), row[2].as<std::string>()};
  run.classifier = row[3].as<std::string>();
  run.model = row[4].as<std::string>();
  run.policy = row[5].as<std::string>();
  run.policy_version = row[6].as<int64_t>();
  run.state = static_cast<RunState>(row[7].as<int>());
  run.activate = row[8].as<bool>();
  run.input_count = row[9].as<int64_t>();
  run.classified = row[10].as<int64_t>();
  run.failed = row[11].as<int64_t>();
  for (int i = 0; i < static_cast<int>(kStatuses); ++i) {
    run.counts[static_cast<size_t>(i)] = row[12 + i].as<int64_t>();
  }
  run.active = row[16].as<bool>();
  run.calls = row[17].as<int64_t>();
  run.cost_micros = row[18].as<int64_t>();
  run.budget_micros = row[19].as<int64_t>();
  run.pause_reason = static_cast<Failure>(row[20].as<int>());
  run.create_time = pg::ToTime(row[21]);
  run.end_time = pg::ToOptionalTime(row[22]);
  return run;
}

StatusOr<LockedRun> LockRun(pg::Session& session, int64_t run, Lock lock) {
  return ReadLocked(session, run, lock == Lock::kShare ? kShareRun : kLockRun);
}

StatusOr<LockedRun> LockRun(pg::Session& session, const NumberKey& key, Lock lock) {
  WINNOW_ASSIGN_OR_RETURN(LockedRun run, LockRun(session, key.id, lock));
  if (run.run.video.ns != key.ns || run.run.classifier.empty()) {
    return NotFound("run", std::to_string(key.id));
  }
  return run;
}

StatusOr<LockedRun> ReadLockedRun(pg::Session& session, int64_t run) {
  return ReadLocked(session, run, kReadRun);
}

Run ReadRun(pg::Session& session, int64_t run) { return ToRun(session.Execute(kReadRun, run)[0]); }

void SetRunState(pg::Session& session, int64_t run, RunState state, Failure pause_reason,
                 Time now) {
  session.Execute(kSetState, run, static_cast<int>(state), static_cast<int>(pause_reason), now);
}

}  // namespace winnow::classification
