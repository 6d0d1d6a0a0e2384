#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/classification/comments/comment_store.h"
#include "services/platform/postgres/session/session.h"

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
  int64_t previous_run = 0;
  int64_t input_high = 0;
  int64_t epoch = 0;
};
StatusOr<LockedRun> LockRun(pg::Session& session, int64_t run, Lock lock);
// The same; NOT_FOUND also when it is of another namespace.
StatusOr<LockedRun> LockRun(pg::Session& session, const NumberKey& key, Lock lock);
Run ReadRun(pg::Session& session, int64_t run);
// The run whose row the transaction holds already: no lock of its video, which would come too late.
StatusOr<LockedRun> ReadLease(pg::Session& session, int64_t run);

// By id, else by alias, in the order asked.
std::vector<FoundComment> Find(pg::Session& session, int64_t video,
                               std::span<const std::string> ids);

// Comments that resolve otherwise than before.
struct StatusChange {
  int64_t comment = 0;
  CommentStatus before = CommentStatus::kNone;
  CommentStatus after = CommentStatus::kNone;
};
// Writes outcomes of distinct comments into a run that is locked, and what follows from them:
// resolved statuses, counts, the end of the run. Tells what resolves otherwise, unless `changes` is
// null.
Written WriteRows(pg::Session& session, const LockedRun& run,
                  std::span<const CommentOutcome> outcomes, Time now,
                  std::vector<StatusChange>* changes = nullptr);

// Cost of calls: what is set aside for them, and what becomes of it.
void Settle(pg::Session& session, int64_t run, const Settlement& settlement);
// Calls whose end nobody told are paid for: their caller died.
void ChargeReservations(pg::Session& session, int64_t run);
void PutCache(pg::Session& session, const std::string& cache_name,
              std::span<const CommentOutcome> outcomes, Time now);

// Overrides in a transaction that has work besides.
StatusOr<OverrideResult> RunOverride(pg::Session& session, const OverrideRequest& request,
                                     Time now);

// What the call did before; nothing when it is new or has no id. INVALID_ARGUMENT when the id was
// used for something else.
StatusOr<std::optional<Numbers>> Recall(pg::Session& session, const RequestKey& key);
// `video`: with which it is forgotten; 0: none.
Status Remember(pg::Session& session, const RequestKey& key, int64_t video, const Numbers& numbers,
                Time now);

void AddAudit(pg::Session& session, const std::string& ns, const AuditEntry& entry, Time now);
// An entry for each comment, in one statement.
struct AuditedComment {
  std::string id{};
  std::string before{};
  std::string after{};
};
void AddAudits(pg::Session& session, const std::string& ns, const AuditEntry& common,
               std::span<const AuditedComment> comments, Time now);
// An entry for each change, of the video of `run`.
void AddChanges(pg::Session& session, const Run& run, const std::string& actor,
                std::span<const StatusChange> changes, Time now);

}  // namespace winnow::classification
