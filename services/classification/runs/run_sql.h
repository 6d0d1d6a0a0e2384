#pragma once

#include <cstdint>

#include "services/classification/comments/comment_sql.h"
#include "services/classification/runs/run.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/session/session.h"

namespace winnow::classification {

// Columns of a run under the aliases r (runs) and w (videos).
#define WINNOW_RUN_COLUMNS                                                                      \
  "r.id, w.namespace, w.video_id, r.classifier, r.model, r.policy, r.policy_version, r.state, " \
  "r.activate, r.input_count, r.classified, r.failed, w.comment_count - r.n_normal - "          \
  "r.n_filtered - r.n_suggestion, r.n_normal, r.n_filtered, r.n_suggestion, "                   \
  "coalesce(r.id = w.active_run, FALSE), r.calls, r.cost_micros, r.budget_micros, "             \
  "r.pause_reason, r.create_time, r.end_time"
inline constexpr int kRunColumns = 23;
Run ToRun(const pqxx::row& row);

// A run, and columns of its video.
struct LockedRun {
  Run run;
  int64_t video = 0;
  int64_t active_run = 0;
  int64_t previous_run = 0;
  int64_t input_high = 0;
  int64_t epoch = 0;
};
// Locks the video, then the run. NOT_FOUND.
StatusOr<LockedRun> LockRun(pg::Session& session, int64_t run, Lock lock);
// The same; NOT_FOUND also if the run is of another namespace.
StatusOr<LockedRun> LockRun(pg::Session& session, const NumberKey& key, Lock lock);
// For a transaction that holds the run's row already: locking the video now would break the lock
// order.
StatusOr<LockedRun> ReadLockedRun(pg::Session& session, int64_t run);
// The run must exist.
Run ReadRun(pg::Session& session, int64_t run);
void SetRunState(pg::Session& session, int64_t run, RunState state, Failure pause_reason, Time now);

}  // namespace winnow::classification
