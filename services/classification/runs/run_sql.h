#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/classification/comments/comment_sql.h"
#include "services/classification/runs/run.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/session/session.h"

namespace winnow::classification {

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

// The outcome of a comment, by its number; content_hash is of the text that was judged.
struct CommentOutcome {
  int64_t comment = 0;
  uint64_t content_hash = 0;
  Outcome outcome;
};

// kKnown: the run had an outcome for this content. kIgnored: the comment is newer than the run's
// input.
enum class WriteResult { kWritten, kKnown, kIgnored };

struct Written {
  std::vector<WriteResult> results;  // of the outcomes, in their order
  bool complete = false;
  bool active = false;  // the run is the one that readers see
  int64_t missing = 0;  // comments of the input without an outcome
};

// A comment whose resolved status changed.
struct StatusChange {
  int64_t comment = 0;
  CommentStatus before = CommentStatus::kNone;
  CommentStatus after = CommentStatus::kNone;
};
// Writes outcomes of distinct comments into a locked run, with its counts, the resolved statuses
// and, if nothing is missing, its end. Appends changed statuses to `changes` unless it is null.
Written WriteVerdicts(pg::Session& session, const LockedRun& run,
                      std::span<const CommentOutcome> outcomes, Time now,
                      std::vector<StatusChange>* changes = nullptr);

// Adds an audit entry per change to the log of the run's video.
void AddChanges(pg::Session& session, const Run& run, const std::string& actor,
                std::span<const StatusChange> changes, Time now);

// The cost of a call for which a reservation was made.
struct Settlement {
  int64_t reservation = 0;  // 0: there was no call
  int64_t calls = 0;
  int64_t cost_micros = 0;
};
// Replaces the reservation by the cost, once.
void Settle(pg::Session& session, int64_t run, const Settlement& settlement);
// Charges every open reservation in full: the worker that made them died before it settled them.
void ChargeReservations(pg::Session& session, int64_t run);

// Keeps verdicts of a model under `cache_name`, so that the next run need not pay for them.
void PutCache(pg::Session& session, const std::string& cache_name,
              std::span<const CommentOutcome> outcomes, Time now);
// The kept verdicts of the same texts, by comment.
std::vector<CommentOutcome> ReadCache(pg::Session& session, const std::string& cache_name,
                                      std::span<const Comment> comments);

}  // namespace winnow::classification
