#include "services/classification/runs/run_store.h"

#include "services/classification/comments/request_store.h"
#include "services/classification/runs/run_store.sql.h"

namespace winnow::classification {
namespace {

constexpr int kMaxUnfinished = 10;
constexpr std::chrono::seconds kRetryStart(5);

// A run that an earlier call made. NOT_FOUND when it is gone by now.
StatusOr<Run> ReadMadeRun(pg::Session& session, int64_t run) {
  if (session.Execute(sql::kHasRun, run).empty()) return NotFound("run", std::to_string(run));
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
  const pqxx::row row = session.Execute(sql::kSwapRun, key.ns, key.id, back, max_failed_share,
                                        actor.actor, actor.note, now)[0];
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

StatusOr<Run> RunStore::StartRun(Deadline deadline, const NewRun& run) {
  const Time now = clock_.Now();
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Run> {
    WINNOW_ASSIGN_OR_RETURN(const VideoRow video, LockVideo(session, run.video, Lock::kUpdate));
    WINNOW_ASSIGN_OR_RETURN(const auto done, Recall(session, run.request));
    if (done) return ReadMadeRun(session, (*done)[0]);
    if (session.Execute(sql::kUnfinishedRuns, video.number)[0][0].as<int>() >= kMaxUnfinished) {
      return Overloaded(
          "the video has 10 unfinished runs, the limit: cancel some, or wait for them",
          kRetryStart);
    }
    const int64_t id =
        session
            .Execute(sql::kInsertRun, video.number, run.classifier, run.model, run.policy,
                     run.policy_version, run.activate, run.budget_micros, now)[0][0]
            .as<int64_t>();
    session.Execute(sql::kPlaceOverrides, video.number, id);
    session.Execute(sql::kPruneRuns, video.number);
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
    if (budget_micros >= 0) session.Execute(sql::kSetRunBudget, key.id, budget_micros);
    if (locked.run.state == RunState::kPaused) {
      SetRunState(session, key.id, RunState::kPending, Failure::kNone, now);
    }
    return ReadRun(session, key.id);
  });
}

StatusOr<Run> RunStore::GetRun(Deadline deadline, const NumberKey& key) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Run> {
    const pqxx::result rows = session.Execute(sql::kGetRun, key.id, key.ns);
    if (rows.empty()) return NotFound("run", std::to_string(key.id));
    return ToRun(rows[0]);
  });
}

StatusOr<std::vector<Run>> RunStore::ListRuns(Deadline deadline, const VideoKey& key,
                                              int64_t before, int count) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::vector<Run>> {
    WINNOW_ASSIGN_OR_RETURN(const VideoRow video, FindVideo(session, key));
    std::vector<Run> runs;
    for (const pqxx::row& row : session.Execute(sql::kListRuns, video.number, before, count)) {
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
    for (const pqxx::row& row : session.Execute(sql::kRunsToActivate)) runs.push_back(ToRun(row));
    return runs;
  });
}

Status RunStore::DropActivation(Deadline deadline, int64_t run) {
  return writes_.Statements(deadline, [&](pg::Session& session) {
    session.Execute(sql::kDropActivation, run);
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
    const pqxx::result video = session.Execute(sql::kVideoOfRun, run.id, run.ns);
    if (video.empty()) return NotFound("run", std::to_string(run.id));
    return FoundInput{{run.ns, video[0][1].as<std::string>()},
                      FindComments(session, video[0][0].as<int64_t>(), ids)};
  });
}

StatusOr<RunStore::Agreement> RunStore::CompareActive(Deadline deadline, int64_t run) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Agreement> {
    const pqxx::row row = session.Execute(sql::kCompareActive, run)[0];
    return Agreement{row[0].as<int64_t>(), row[1].as<int64_t>()};
  });
}

StatusOr<Comparison> RunStore::CompareRuns(Deadline deadline, const NumberKey& key, int64_t base,
                                           const std::string& after, int count, bool with_matrix) {
  const int64_t run = key.id;
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Comparison> {
    const pqxx::result videos = session.Execute(sql::kVideosOfRuns, run, base, key.ns);
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
      for (const pqxx::row& row : session.Execute(sql::kCompareRuns, run, base)) {
        comparison.matrix.push_back({status(row[0]), status(row[1]), row[2].as<int64_t>()});
      }
    }
    for (const pqxx::row& row :
         session.Execute(sql::kCompareChanges, video, run, base, after, count)) {
      comparison.changes.push_back({row[0].as<std::string>(), status(row[1]), status(row[2])});
    }
    return comparison;
  });
}

}  // namespace winnow::classification
