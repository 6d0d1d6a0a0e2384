#include "services/classification/runs/run_store.h"

#include "services/classification/comments/request_store.h"

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

constexpr pg::Statement kVideoOfRun{"classification.video_of_run",
                                    "SELECT w.number, w.video_id FROM classification.runs r "
                                    "JOIN classification.videos w ON w.number = r.video "
                                    "WHERE r.id = $1 AND w.namespace = $2 AND r.classifier <> ''"};

// A run that an earlier call made. NOT_FOUND when it is gone by now.
StatusOr<Run> ReadMadeRun(pg::Session& session, int64_t run) {
  if (session.Execute(kHasRun, run).empty()) return NotFound("run", std::to_string(run));
  return ReadRun(session, run);
}

bool HasEnded(RunState state) {
  return state == RunState::kComplete || state == RunState::kCancelled;
}

// What swap_run answers, by its numbers.
enum class Swap { kDone, kNoRun, kOther, kNoneBefore, kActive, kRunning, kUncovered, kFailures };
struct Swapped {
  Swap outcome = Swap::kNoRun;
  Run run{};  // that is active now, or else the one that was named
};

Swapped SwapRun(pg::Session& session, const NumberKey& key, bool back, double max_failed_share,
                const Actor& actor, Time now) {
  const pqxx::row row = session.Execute(kSwap, key.ns, key.id, back, max_failed_share, actor.actor,
                                        actor.note, now)[0];
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

constexpr pg::Statement kMatrix{
    "classification.compare_runs",
    "SELECT coalesce(b.status, 0), coalesce(a.status, 0), count(*) "
    "FROM (SELECT comment, status FROM classification.verdicts WHERE run = $1) a "
    "FULL JOIN (SELECT comment, status FROM classification.verdicts WHERE run = $2) b "
    "ON b.comment = a.comment GROUP BY 1, 2 ORDER BY 1, 2"};
constexpr pg::Statement kChanges{
    "classification.compare_changes",
    "SELECT c.id, coalesce(b.status, 0), coalesce(a.status, 0) FROM classification.comments c "
    "LEFT JOIN LATERAL (SELECT status FROM classification.verdicts "
    "  WHERE run = $2 AND comment = c.number LIMIT 1) a ON TRUE "
    "LEFT JOIN LATERAL (SELECT status FROM classification.verdicts "
    "  WHERE run = $3 AND comment = c.number LIMIT 1) b ON TRUE "
    "WHERE c.video = $1 AND c.id > $4 AND coalesce(a.status, 0) <> coalesce(b.status, 0) "
    "ORDER BY c.id LIMIT $5"};

constexpr pg::Statement kAgreement{
    "classification.compare_active",
    "SELECT count(*) FILTER (WHERE a.status = b.status), "
    "count(*) FILTER (WHERE a.status <> b.status) FROM classification.videos w "
    "JOIN classification.verdicts a ON a.run = w.active_run "
    "JOIN classification.verdicts b ON b.run = w.previous_run AND b.comment = a.comment "
    "WHERE w.number = (SELECT video FROM classification.runs WHERE id = $1) "
    "AND w.active_run = $1"};

}  // namespace

StatusOr<Run> RunStore::StartRun(Deadline deadline, const NewRun& run) {
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

StatusOr<Run> RunStore::ResumeRun(Deadline deadline, const NumberKey& key, int64_t budget_micros) {
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
      SetRunState(session, key.id, RunState::kPending, Failure::kNone, now);
    }
    return ReadRun(session, key.id);
  });
}

StatusOr<Run> RunStore::GetRun(Deadline deadline, const NumberKey& key) {
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

StatusOr<std::vector<Run>> RunStore::ListRuns(Deadline deadline, const VideoKey& key,
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

StatusOr<Run> RunStore::CancelRun(Deadline deadline, const NumberKey& key) {
  const Time now = clock_.Now();
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Run> {
    WINNOW_ASSIGN_OR_RETURN(const LockedRun locked, LockRun(session, key, Lock::kUpdate));
    if (locked.run.state == RunState::kComplete) {
      return FailedPrecondition("the run is complete: activate another one instead");
    }
    if (locked.run.state != RunState::kCancelled) {
      SetRunState(session, key.id, RunState::kCancelled, Failure::kNone, now);
    }
    return ReadRun(session, key.id);
  });
}

StatusOr<Run> RunStore::ActivateRun(Deadline deadline, const NumberKey& key, const Actor& actor) {
  const Time now = clock_.Now();
  const auto swap = [&](double share) {
    return writes_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Swapped> {
      return SwapRun(session, key, false, share, actor, now);
    });
  };
  WINNOW_ASSIGN_OR_RETURN(Swapped swapped, swap(0));
  if (swapped.outcome == Swap::kFailures) {
    const Run& run = swapped.run;
    WINNOW_ASSIGN_OR_RETURN(const auto decider,
                            policies_.Get(deadline, run.video.ns, run.policy, run.policy_version));
    WINNOW_ASSIGN_OR_RETURN(swapped, swap(decider->policy().max_failed_share));
  }
  return ToResult(std::move(swapped), key);
}

StatusOr<Run> RunStore::RollbackRun(Deadline deadline, const NumberKey& key, const Actor& actor,
                                    const RequestKey& request) {
  const Time now = clock_.Now();
  if (request.id.empty()) {
    return writes_.Statements(deadline, [&](pg::Session& session) {
      return ToResult(SwapRun(session, key, true, 0, actor, now), key);
    });
  }
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Run> {
    WINNOW_ASSIGN_OR_RETURN(const LockedRun left, LockRun(session, key, Lock::kUpdate));
    WINNOW_ASSIGN_OR_RETURN(const auto done, Recall(session, request));
    if (done) return ReadMadeRun(session, (*done)[0]);
    WINNOW_ASSIGN_OR_RETURN(const Run run,
                            ToResult(SwapRun(session, key, true, 0, actor, now), key));
    WINNOW_RETURN_IF_ERROR(Remember(session, request, left.video, {run.id}, now));
    return run;
  });
}

StatusOr<std::vector<Run>> RunStore::RunsToActivate(Deadline deadline) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::vector<Run>> {
    std::vector<Run> runs;
    for (const pqxx::row& row : session.Execute(kToActivate)) runs.push_back(ToRun(row));
    return runs;
  });
}

Status RunStore::DropActivation(Deadline deadline, int64_t run) {
  return writes_.Statements(deadline, [&](pg::Session& session) {
    session.Execute(kDropActivation, run);
    return OkStatus();
  });
}

StatusOr<Written> RunStore::IngestOutcomes(Deadline deadline, const NumberKey& key,
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
    Written written = WriteVerdicts(session, locked, outcomes, now, &changes);
    written.active = locked.active_run == key.id;
    if (written.active) AddChanges(session, locked.run, actor, changes, now);
    return written;
  });
}

StatusOr<RunStore::FoundInput> RunStore::FindInput(Deadline deadline, const NumberKey& run,
                                                   std::span<const std::string> ids) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<FoundInput> {
    const pqxx::result video = session.Execute(kVideoOfRun, run.id, run.ns);
    if (video.empty()) return NotFound("run", std::to_string(run.id));
    return FoundInput{{run.ns, video[0][1].as<std::string>()},
                      FindComments(session, video[0][0].as<int64_t>(), ids)};
  });
}

StatusOr<RunStore::Agreement> RunStore::CompareActive(Deadline deadline, int64_t run) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Agreement> {
    const pqxx::row row = session.Execute(kAgreement, run)[0];
    return Agreement{row[0].as<int64_t>(), row[1].as<int64_t>()};
  });
}

StatusOr<Comparison> RunStore::CompareRuns(Deadline deadline, const NumberKey& key, int64_t base,
                                           const std::string& after, int count, bool with_matrix) {
  const int64_t run = key.id;
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Comparison> {
    static constexpr pg::Statement kVideo{
        "classification.videos_of_runs",
        "SELECT r.id, r.video FROM classification.runs r "
        "JOIN classification.videos w ON w.number = r.video "
        "WHERE r.id IN ($1, $2) AND w.namespace = $3 AND r.classifier <> ''"};
    const pqxx::result videos = session.Execute(kVideo, run, base, key.ns);
    for (const int64_t id : {run, base}) {
      bool found = false;
      for (const pqxx::row& row : videos) found = found || row[0].as<int64_t>() == id;
      if (!found) return NotFound("run", std::to_string(id));
    }
    const auto video = videos[0][1].as<int64_t>();
    if (videos[videos.size() - 1][1].as<int64_t>() != video) {
      return InvalidField("base_run_id", "is of another video");
    }
    Comparison comparison;
    const auto status = [](const pqxx::field& field) {
      return static_cast<CommentStatus>(field.as<int>());
    };
    if (with_matrix) {
      for (const pqxx::row& row : session.Execute(kMatrix, run, base)) {
        comparison.matrix.push_back({status(row[0]), status(row[1]), row[2].as<int64_t>()});
      }
    }
    for (const pqxx::row& row : session.Execute(kChanges, video, run, base, after, count)) {
      comparison.changes.push_back({row[0].as<std::string>(), status(row[1]), status(row[2])});
    }
    return comparison;
  });
}

}  // namespace winnow::classification
