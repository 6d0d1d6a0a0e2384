#include "services/classification/comments/comment_sql.h"
#include "services/classification/comments/comment_store.h"

// Runs: their life, the lease of whoever works on one, and the pointer to the active one.
namespace winnow::classification {
namespace {

constexpr int kMaxUnfinished = 10;
constexpr std::chrono::seconds kRetryStart(5);

constexpr pg::Statement kHasRun{"classification.has_run",
                                "SELECT 1 FROM classification.runs WHERE id = $1"};
constexpr pg::Statement kUnfinished{
    "classification.unfinished_runs",
    "SELECT count(*) FROM classification.runs WHERE video = $1 AND state IN (1, 2, 3)"};
constexpr pg::Statement kInsertRun{
    "classification.insert_run",
    "INSERT INTO classification.runs (video, classifier, model, policy, policy_version, state, "
    "activate, input_high, input_count, budget_micros, create_time, end_time) "
    "SELECT $1, $2, $3, $4, $5, CASE WHEN w.comment_count = 0 THEN 4 WHEN $2 = 'external' THEN 2 "
    "ELSE 1 END, $6, coalesce((SELECT c.number FROM classification.comments c "
    "WHERE c.video = $1 ORDER BY c.number DESC LIMIT 1), 0), w.comment_count, $7, "
    "$8::timestamptz, CASE WHEN w.comment_count = 0 THEN $8::timestamptz END "
    "FROM classification.videos w WHERE w.number = $1 RETURNING id"};
// Overrides hold in every run from its beginning.
constexpr pg::Statement kPlaceOverrides{
    "classification.place_overrides",
    "WITH placed AS (INSERT INTO classification.verdicts "
    "(run, comment, resolved, overridden, sort_time) "
    "SELECT $2, o.comment, o.status, TRUE, c.sort_time FROM classification.overrides o "
    "CROSS JOIN LATERAL (SELECT sort_time FROM classification.comments "
    "WHERE number = o.comment LIMIT 1) c WHERE o.video = $1 RETURNING resolved) "
    "UPDATE classification.runs SET "
    "n_normal = (SELECT count(*) FROM placed WHERE resolved = 1), "
    "n_filtered = (SELECT count(*) FROM placed WHERE resolved = 2), "
    "n_suggestion = (SELECT count(*) FROM placed WHERE resolved = 3) WHERE id = $2"};
// The newest ended runs stay, and those that the video points to.
constexpr pg::Statement kPrune{
    "classification.prune_runs",
    "DELETE FROM classification.runs WHERE id IN (SELECT r.id FROM classification.runs r "
    "JOIN classification.videos w ON w.number = r.video WHERE r.video = $1 AND r.state IN (4, 5) "
    "AND r.id IS DISTINCT FROM w.active_run AND r.id IS DISTINCT FROM w.previous_run "
    "ORDER BY r.id DESC OFFSET 10)"};

constexpr pg::Statement kList{
    "classification.list_runs",
    "SELECT " WINNOW_RUN_COLUMNS
    " FROM classification.runs r JOIN classification.videos w ON w.number = r.video "
    "WHERE r.video = $1 AND r.classifier <> '' AND r.id < $2 ORDER BY r.id DESC LIMIT $3"};
constexpr pg::Statement kSetState{
    "classification.set_run_state",
    "UPDATE classification.runs SET state = $2::smallint, pause_reason = $3, lease_until = NULL, "
    "end_time = CASE WHEN $2::smallint = 5 THEN $4::timestamptz ELSE end_time END WHERE id = $1"};
constexpr pg::Statement kSetBudget{
    "classification.set_run_budget",
    "UPDATE classification.runs SET budget_micros = $2 WHERE id = $1"};
// One round trip, and the commit in it: migrations/0005_swap.sql.
constexpr pg::Statement kSwap{
    "classification.swap_run",
    "SELECT " WINNOW_RUN_COLUMNS
    ", s.outcome FROM classification.swap_run($1, $2, $3, $4, $5, $6, $7::timestamptz) s "
    "CROSS JOIN LATERAL (SELECT (s.r).*) r CROSS JOIN LATERAL (SELECT (s.w).*) w"};

constexpr pg::Statement kToActivate{
    "classification.runs_to_activate",
    "SELECT " WINNOW_RUN_COLUMNS
    " FROM classification.runs r JOIN classification.videos w ON w.number = r.video "
    "WHERE r.activate AND r.state = 4 ORDER BY r.id LIMIT 100"};
constexpr pg::Statement kDropActivation{
    "classification.drop_activation",
    "UPDATE classification.runs SET activate = FALSE WHERE id = $1"};

constexpr pg::Statement kLease{
    "classification.lease_run",
    "UPDATE classification.runs SET state = 2, lease_owner = $1, lease_epoch = lease_epoch + 1, "
    "lease_until = clock_timestamp() + interval '30 seconds' WHERE id = (SELECT id "
    "FROM classification.runs WHERE state IN (1, 2) AND classifier = ANY($2::text[]) "
    "AND (lease_until IS NULL OR lease_until < clock_timestamp()) "
    "ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id"};
constexpr pg::Statement kExtend{
    "classification.extend_lease",
    "UPDATE classification.runs SET lease_until = clock_timestamp() + interval '30 seconds' "
    "WHERE id = $1"};
constexpr pg::Statement kRelease{
    "classification.release_lease",
    "UPDATE classification.runs SET lease_until = NULL WHERE id = $1 AND lease_epoch = $2"};
constexpr pg::Statement kResidue{
    "classification.residue",
    "SELECT c.number, c.id, c.body, c.content_hash FROM classification.comments c "
    "LEFT JOIN LATERAL (SELECT status, failure FROM classification.verdicts "
    "  WHERE run = $2 AND comment = c.number LIMIT 1) v ON TRUE "
    "WHERE c.video = $1 AND c.number > $3 AND c.number <= $4 "
    "AND v.status IS NULL AND coalesce(v.failure, 0) = 0 ORDER BY c.number LIMIT $5"};

constexpr pg::Statement kExtendOnly{
    "classification.extend_lease_only",
    "UPDATE classification.runs SET lease_until = clock_timestamp() + interval '30 seconds' "
    "WHERE id = $1 AND lease_epoch = $2 AND state = 2"};

// A run that an earlier call made. NOT_FOUND when it is gone by now.
StatusOr<Run> ReadMadeRun(pg::Session& session, int64_t run) {
  if (session.Execute(kHasRun, run).empty()) return NotFound("run", std::to_string(run));
  return ReadRun(session, run);
}

bool HasEnded(RunState state) {
  return state == RunState::kComplete || state == RunState::kCancelled;
}

Status CheckLease(const LockedRun& run, const Lease& lease) {
  if (run.epoch == lease.epoch && run.run.state == RunState::kRunning) return OkStatus();
  return FailedPrecondition("this worker no longer owns the run: another one took it over");
}

// What swap_run answers, by its numbers.
enum class Swap { kDone, kNoRun, kOther, kNoneBefore, kActive, kRunning, kUncovered, kFailures };
struct Swapped {
  Swap outcome = Swap::kNoRun;
  Run run{};  // that is active now, or else the one that was named
};

Swapped SwapRun(pg::Session& session, const NumberKey& key, bool back, double max_failed_share,
                const Actor& speaker, Time now) {
  const pqxx::row row = session.Execute(kSwap, key.ns, key.id, back, max_failed_share,
                                        speaker.actor, speaker.note, now)[0];
  const auto outcome = static_cast<Swap>(row[kRunColumns].as<int>());
  if (outcome == Swap::kNoRun) return {};
  return {outcome, ToRun(row)};
}

StatusOr<Run> ToResult(Swapped swapped, const NumberKey& key) {
  const Run& run = swapped.run;
  const std::string id = std::to_string(key.id);
  switch (swapped.outcome) {
    case Swap::kDone:
    case Swap::kActive:
      return std::move(swapped.run);
    case Swap::kNoRun:
      return NotFound("run", id);
    case Swap::kOther:
      return FailedPrecondition("run " + id + " is not the active one: name the run to leave");
    case Swap::kNoneBefore:
      return FailedPrecondition("no run was active before this one");
    case Swap::kRunning:
      return FailedPrecondition("the run is not complete: wait for it, or start another");
    case Swap::kUncovered:
      return Internal("a complete run does not cover its input");
    case Swap::kFailures:
      return FailedPrecondition(std::to_string(run.failed) + " of " +
                                std::to_string(run.input_count) +
                                " comments failed, more than the policy's max_failed_share allows");
  }
  return Internal("a swap came out as this version does not know");
}

}  // namespace

StatusOr<Run> CommentStore::StartRun(Deadline deadline, const NewRun& run) {
  const Time now = clock_.Now();
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Run> {
    WINNOW_ASSIGN_OR_RETURN(const VideoRow video, LockVideo(session, run.video, Lock::kUpdate));
    WINNOW_ASSIGN_OR_RETURN(const auto done, Recall(session, run.request));
    if (done) return ReadMadeRun(session, (*done)[0]);
    if (session.Execute(kUnfinished, video.number)[0][0].as<int>() >= kMaxUnfinished) {
      return Overloaded(
          "the video has 10 unfinished runs, the limit: cancel some, or wait for them",
          kRetryStart);
    }
    const int64_t id = session
                           .Execute(kInsertRun, video.number, run.classifier, run.model, run.policy,
                                    run.policy_version, run.activate, run.budget_micros, now)[0][0]
                           .as<int64_t>();
    session.Execute(kPlaceOverrides, video.number, id);
    session.Execute(kPrune, video.number);
    WINNOW_RETURN_IF_ERROR(Remember(session, run.request, video.number, {id}, now));
    return ReadRun(session, id);
  });
}

StatusOr<Run> CommentStore::ResumeRun(Deadline deadline, const NumberKey& key,
                                      int64_t budget_micros) {
  const Time now = clock_.Now();
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Run> {
    WINNOW_ASSIGN_OR_RETURN(const LockedRun locked, LockRun(session, key, Lock::kUpdate));
    if (HasEnded(locked.run.state)) {
      return FailedPrecondition("the run has ended: start another");
    }
    if (budget_micros > 0 && budget_micros <= locked.run.cost_micros) {
      return InvalidField("budget_micros", "is spent already: the run has cost " +
                                               std::to_string(locked.run.cost_micros));
    }
    if (budget_micros >= 0) session.Execute(kSetBudget, key.id, budget_micros);
    if (locked.run.state == RunState::kPaused) {
      session.Execute(kSetState, key.id, static_cast<int>(RunState::kPending), 0, now);
    }
    return ReadRun(session, key.id);
  });
}

StatusOr<Run> CommentStore::GetRun(Deadline deadline, const NumberKey& key) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Run> {
    static constexpr pg::Statement kGet{
        "classification.get_run",
        "SELECT " WINNOW_RUN_COLUMNS
        " FROM classification.runs r JOIN classification.videos w ON w.number = r.video "
        "WHERE r.id = $1 AND w.namespace = $2 AND r.classifier <> ''"};
    const pqxx::result rows = session.Execute(kGet, key.id, key.ns);
    if (rows.empty()) return NotFound("run", std::to_string(key.id));
    return ToRun(rows[0]);
  });
}

StatusOr<std::vector<Run>> CommentStore::ListRuns(Deadline deadline, const VideoKey& key,
                                                  int64_t before, int count) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::vector<Run>> {
    WINNOW_ASSIGN_OR_RETURN(const VideoRow video, FindVideo(session, key));
    std::vector<Run> runs;
    for (const pqxx::row& row : session.Execute(kList, video.number, before, count)) {
      runs.push_back(ToRun(row));
    }
    return runs;
  });
}

StatusOr<Run> CommentStore::CancelRun(Deadline deadline, const NumberKey& key) {
  const Time now = clock_.Now();
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Run> {
    WINNOW_ASSIGN_OR_RETURN(const LockedRun locked, LockRun(session, key, Lock::kUpdate));
    if (locked.run.state == RunState::kComplete) {
      return FailedPrecondition("the run is complete: activate another one instead");
    }
    if (locked.run.state != RunState::kCancelled) {
      session.Execute(kSetState, key.id, static_cast<int>(RunState::kCancelled), 0, now);
    }
    return ReadRun(session, key.id);
  });
}

StatusOr<Run> CommentStore::ActivateRun(Deadline deadline, const NumberKey& key,
                                        const MaxFailedShare& max_failed_share,
                                        const Actor& speaker) {
  const Time now = clock_.Now();
  const auto swap = [&](double share) {
    return writes_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Swapped> {
      return SwapRun(session, key, false, share, speaker, now);
    });
  };
  WINNOW_ASSIGN_OR_RETURN(Swapped swapped, swap(0));
  if (swapped.outcome == Swap::kFailures) {
    WINNOW_ASSIGN_OR_RETURN(const double share, max_failed_share(swapped.run));
    WINNOW_ASSIGN_OR_RETURN(swapped, swap(share));
  }
  return ToResult(std::move(swapped), key);
}

StatusOr<Run> CommentStore::RollbackRun(Deadline deadline, const NumberKey& key,
                                        const Actor& speaker, const RequestKey& request) {
  const Time now = clock_.Now();
  if (request.id.empty()) {
    return writes_.Statements(deadline, [&](pg::Session& session) {
      return ToResult(SwapRun(session, key, true, 0, speaker, now), key);
    });
  }
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Run> {
    WINNOW_ASSIGN_OR_RETURN(const LockedRun left, LockRun(session, key, Lock::kUpdate));
    WINNOW_ASSIGN_OR_RETURN(const auto done, Recall(session, request));
    if (done) return ReadMadeRun(session, (*done)[0]);
    WINNOW_ASSIGN_OR_RETURN(const Run run,
                            ToResult(SwapRun(session, key, true, 0, speaker, now), key));
    WINNOW_RETURN_IF_ERROR(Remember(session, request, left.video, {run.id}, now));
    return run;
  });
}

StatusOr<std::vector<Run>> CommentStore::RunsToActivate(Deadline deadline) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::vector<Run>> {
    std::vector<Run> runs;
    for (const pqxx::row& row : session.Execute(kToActivate)) runs.push_back(ToRun(row));
    return runs;
  });
}

Status CommentStore::DropActivation(Deadline deadline, int64_t run) {
  return writes_.Statements(deadline, [&](pg::Session& session) {
    session.Execute(kDropActivation, run);
    return OkStatus();
  });
}

StatusOr<std::optional<Lease>> CommentStore::LeaseRun(Deadline deadline, const std::string& owner,
                                                      std::span<const std::string> classifiers) {
  pg::Array names;
  for (const std::string& name : classifiers) names.Add(name);
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<std::optional<Lease>> {
    const pqxx::result taken = session.Execute(kLease, owner, names);
    if (taken.empty()) return std::optional<Lease>();
    ChargeReservations(session, taken[0][0].as<int64_t>());
    WINNOW_ASSIGN_OR_RETURN(const LockedRun run, ReadLease(session, taken[0][0].as<int64_t>()));
    return std::optional<Lease>(Lease{run.run, run.video, run.epoch, run.input_high});
  });
}

StatusOr<std::vector<Comment>> CommentStore::ReadPending(Deadline deadline, const Lease& lease,
                                                         int64_t after, int count) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::vector<Comment>> {
    std::vector<Comment> comments;
    for (const pqxx::row& row :
         session.Execute(kResidue, lease.video, lease.run.id, after, lease.input_high, count)) {
      Comment comment;
      comment.number = row[0].as<int64_t>();
      comment.id = row[1].as<std::string>();
      comment.text = row[2].as<std::string>();
      comment.content_hash = static_cast<uint64_t>(row[3].as<int64_t>());
      comments.push_back(std::move(comment));
    }
    return comments;
  });
}

Status CommentStore::ExtendLease(Deadline deadline, const Lease& lease) {
  return writes_.Statements(deadline, [&](pg::Session& session) -> Status {
    if (session.Execute(kExtendOnly, lease.run.id, lease.epoch).affected_rows() == 1) {
      return OkStatus();
    }
    return FailedPrecondition("this worker no longer owns the run: another one took it over");
  });
}

StatusOr<Written> CommentStore::WriteOutcomes(Deadline deadline, const Lease& lease,
                                              std::span<const CommentOutcome> outcomes,
                                              const Settlement& settlement,
                                              const std::string& cache_name) {
  const Time now = clock_.Now();
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Written> {
    WINNOW_ASSIGN_OR_RETURN(const LockedRun run, LockRun(session, lease.run.id, Lock::kShare));
    WINNOW_RETURN_IF_ERROR(CheckLease(run, lease));
    session.Execute(kExtend, lease.run.id);
    Settle(session, lease.run.id, settlement);
    if (!cache_name.empty()) PutCache(session, cache_name, outcomes, now);
    return WriteRows(session, run, outcomes, now);
  });
}

Status CommentStore::PauseRun(Deadline deadline, const Lease& lease, Failure reason) {
  const Time now = clock_.Now();
  return writes_.Transaction(deadline, [&](pg::Session& session) -> Status {
    WINNOW_ASSIGN_OR_RETURN(const LockedRun run, LockRun(session, lease.run.id, Lock::kShare));
    WINNOW_RETURN_IF_ERROR(CheckLease(run, lease));
    session.Execute(kSetState, lease.run.id, static_cast<int>(RunState::kPaused),
                    static_cast<int>(reason), now);
    return OkStatus();
  });
}

Status CommentStore::ReleaseRun(Deadline deadline, const Lease& lease) {
  return writes_.Statements(deadline, [&](pg::Session& session) {
    session.Execute(kRelease, lease.run.id, lease.epoch);
    return OkStatus();
  });
}

StatusOr<Written> CommentStore::IngestOutcomes(Deadline deadline, const NumberKey& key,
                                               std::span<const CommentOutcome> outcomes,
                                               const std::string& actor) {
  const Time now = clock_.Now();
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Written> {
    WINNOW_ASSIGN_OR_RETURN(const LockedRun locked, LockRun(session, key, Lock::kShare));
    if (locked.run.classifier != "external") {
      return FailedPrecondition("the run is not external: start one with classifier external");
    }
    if (locked.run.state == RunState::kCancelled) {
      return FailedPrecondition("the run was cancelled: start another");
    }
    std::vector<StatusChange> changes;
    Written written = WriteRows(session, locked, outcomes, now, &changes);
    written.active = locked.active_run == key.id;
    if (written.active) AddChanges(session, locked.run, actor, changes, now);
    return written;
  });
}

}  // namespace winnow::classification
