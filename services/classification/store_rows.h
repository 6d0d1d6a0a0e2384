#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/classification/store.h"
#include "services/platform/postgres/session.h"

// What the files of the store share.
namespace winnow::classification {

// Columns of a run under the aliases r (runs) and w (videos), and back.
#define WINNOW_RUN_COLUMNS                                                                      \
  "r.id, w.namespace, w.video_id, r.classifier, r.model, r.policy, r.policy_version, r.state, " \
  "r.activate, r.input_count, r.classified, r.failed, w.comment_count - r.n_normal - "          \
  "r.n_filtered - r.n_suggestion, r.n_normal, r.n_filtered, r.n_suggestion, "                   \
  "coalesce(r.id = w.active_run, FALSE), r.calls, r.cost_micros, r.budget_micros, "             \
  "r.pause_reason, r.create_time, r.end_time"
inline constexpr int kRunColumns = 23;
Run ToRun(const pqxx::row& row);

enum class Lock { kShare, kUpdate };
struct VideoRow {
  int64_t number = 0;
  int64_t active_run = 0;
  int64_t previous_run = 0;
  int64_t comment_count = 0;
};
// NOT_FOUND.
StatusOr<VideoRow> LockVideo(pg::Session& session, const VideoKey& key, Lock lock);
StatusOr<VideoRow> FindVideo(pg::Session& session, const VideoKey& key);

// A run with its video locked. NOT_FOUND.
struct LockedRun {
  Run run;
  int64_t video = 0;
  int64_t active_run = 0;
  int64_t input_high = 0;
  int64_t epoch = 0;
};
StatusOr<LockedRun> LockRun(pg::Session& session, int64_t run, Lock lock);
Run ReadRun(pg::Session& session, int64_t run);
// The run whose row the transaction holds already: no lock of its video, which would come too late.
StatusOr<LockedRun> ReadLease(pg::Session& session, int64_t run);

std::vector<FoundComment> Find(pg::Session& session, int64_t video,
                               std::span<const std::string> ids);

// Writes outcomes into a run whose video is locked, and what follows from them: resolved statuses,
// counts, the end of the run.
Written WriteRows(pg::Session& session, const LockedRun& run,
                  std::span<const CommentOutcome> outcomes, Time now);

// Cost of calls: what is set aside for them, and what becomes of it.
void Settle(pg::Session& session, int64_t run, const Settlement& settlement);
// Calls whose end nobody told are paid for: their caller died.
void ChargeReservations(pg::Session& session, int64_t run);
void PutCache(pg::Session& session, const std::string& cache_name,
              std::span<const CommentOutcome> outcomes, Time now);

void AddAudit(pg::Session& session, const std::string& ns, const AuditEntry& entry, Time now);

}  // namespace winnow::classification
