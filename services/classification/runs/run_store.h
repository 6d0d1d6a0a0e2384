#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/classification/audit/audit_entry.h"
#include "services/classification/policy/policy_store.h"
#include "services/classification/runs/run.h"
#include "services/classification/runs/run_sql.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::classification {

struct NewRun {
  VideoKey video;
  std::string classifier;
  std::string model;
  std::string policy;
  int64_t policy_version = 0;
  bool activate = false;
  int64_t budget_micros = 0;
  RequestKey request{};
};

// How two runs of a video differ.
struct Comparison {
  struct Cell {
    CommentStatus base = CommentStatus::kNone;
    CommentStatus status = CommentStatus::kNone;
    int64_t count = 0;
  };
  struct Change {
    std::string comment_id;
    CommentStatus base = CommentStatus::kNone;
    CommentStatus status = CommentStatus::kNone;
  };
  std::vector<Cell> matrix;
  std::vector<Change> changes;
};

// Runs as their callers use them: their life, and which one is active. Thread-safe.
class RunStore {
 public:
  RunStore(pg::Pool& reads, pg::Pool& writes, const Clock& clock, CachedPolicyStore& policies)
      : reads_(reads), writes_(writes), clock_(clock), policies_(policies) {}

  // RESOURCE_EXHAUSTED while the video has 10 unfinished runs.
  StatusOr<Run> StartRun(Deadline deadline, const NewRun& run);
  // A budget of -1 leaves it unchanged.
  StatusOr<Run> ResumeRun(Deadline deadline, const NumberKey& key, int64_t budget_micros);
  StatusOr<Run> GetRun(Deadline deadline, const NumberKey& key);
  // At most `count` runs with IDs below `before`, newest first.
  StatusOr<std::vector<Run>> ListRuns(Deadline deadline, const VideoKey& key, int64_t before,
                                      int count);
  StatusOr<Run> CancelRun(Deadline deadline, const NumberKey& key);
  // FAILED_PRECONDITION unless the run is complete, with no more failures than its policy allows.
  StatusOr<Run> ActivateRun(Deadline deadline, const NumberKey& key, const Actor& actor);
  // Replaces the active run `key` by the one active before it. A retry without a request ID fails
  // with FAILED_PRECONDITION if the first call succeeded.
  StatusOr<Run> RollbackRun(Deadline deadline, const NumberKey& key, const Actor& actor,
                            const RequestKey& request);
  // At most 100 complete runs that asked to be activated, oldest first.
  StatusOr<std::vector<Run>> RunsToActivate(Deadline deadline);
  // The run no longer asks to be activated.
  Status DropActivation(Deadline deadline, int64_t run);

  struct FoundInput {
    VideoKey video;
    std::vector<FoundComment> comments;
  };
  // Comments of a run's video, as FindComments.
  StatusOr<FoundInput> FindInput(Deadline deadline, const NumberKey& run,
                                 std::span<const std::string> ids);
  // Writes outcomes of distinct comments by an external classifier. FAILED_PRECONDITION unless the
  // run is external and not cancelled. Changes of an active run are audited.
  StatusOr<Written> IngestOutcomes(Deadline deadline, const NumberKey& key,
                                   std::span<const CommentOutcome> outcomes,
                                   const std::string& actor);

  struct Agreement {
    int64_t same = 0;
    int64_t different = 0;
  };
  // Compares the verdicts of a run and of the one active before it; 0 and 0 once the run is no
  // longer active.
  StatusOr<Agreement> CompareActive(Deadline deadline, int64_t run);
  // At most `count` changes of comments with IDs after `after`.
  StatusOr<Comparison> CompareRuns(Deadline deadline, const NumberKey& run, int64_t base,
                                   const std::string& after, int count, bool with_matrix);

 private:
  pg::Pool& reads_;
  pg::Pool& writes_;
  const Clock& clock_;
  CachedPolicyStore& policies_;
};

}  // namespace winnow::classification
