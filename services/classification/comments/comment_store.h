#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/classification/comments/records.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"
#include "services/platform/postgres/schema/migrate.h"

// The schema classification. Who changes statuses of a video locks its row first: verdicts share
// the lock, overrides, swaps and new runs hold it alone. So counts and resolved statuses change
// in the transaction of what changes them, and are exact.
namespace winnow::classification {

pg::Migrations StoreMigrations();

struct Imported {
  int64_t created = 0;
  int64_t updated = 0;
  int64_t unchanged = 0;
};

// What a call with a request_id did: numbers of which its method knows the meaning.
using Numbers = std::array<int64_t, 3>;

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

// A run that this process works on, until the lease ends.
struct Lease {
  Run run;
  int64_t video = 0;
  int64_t epoch = 0;
  int64_t input_high = 0;
};

// An outcome for a comment by number; content_hash is of the text that was judged.
struct CommentOutcome {
  int64_t comment = 0;
  uint64_t content_hash = 0;
  Outcome outcome;
};

// What a call cost for which cost was reserved.
struct Settlement {
  int64_t reservation = 0;  // 0: there was no call
  int64_t calls = 0;
  int64_t cost_micros = 0;
};

// What became of an outcome: it is new, the run had one for this content, or the comment is not of
// the run's input.
enum class WriteResult { kWritten, kKnown, kIgnored };

struct Written {
  std::vector<WriteResult> fates;  // of the outcomes, in their order
  bool complete = false;
  bool active = false;  // the run is what readers see
  int64_t missing = 0;
};

// A comment found by id or alias.
struct FoundComment {
  int64_t number = 0;  // 0: unknown
  bool ambiguous = false;
  uint64_t content_hash = 0;
  std::string id;  // in full, where it was found by an alias
};

enum class Order { kNewest, kHighest };

struct ListQuery {
  VideoKey video;
  CommentStatus status = CommentStatus::kNone;
  Order order = Order::kNewest;
  int page_size = 20;
  int64_t run = 0;  // of the page before; 0: the active one
  std::optional<Time> after_time;
  float after_score = 0;
  int64_t after_number = 0;
};

struct OverrideRequest {
  VideoKey video;
  std::vector<std::string> comment_ids;
  CommentStatus status = CommentStatus::kNone;
  std::string reason;
  std::string actor;
  std::string note;
  bool bulk = false;
  bool dry_run = false;
  std::string action = "override";
  int64_t appeal = 0;  // that is granted by it
  RequestKey request{};
};

struct OverrideResult {
  int64_t changed = 0;
  int64_t same = 0;
  int64_t bulk = 0;
};

struct UndoRequest {
  VideoKey video;
  std::string comment_id;  // empty: the bulk
  int64_t bulk = 0;
  std::string actor;
  std::string note;
  RequestKey request{};
};

struct UndoResult {
  int64_t undone = 0;
  int64_t restored = 0;
};

// Who says so, and why.
struct Actor {
  std::string actor;
  std::string note{};
};

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

class CommentStore {
 public:
  CommentStore(pg::Pool& reads, pg::Pool& writes, const Clock& clock, Micros retention)
      : reads_(reads), writes_(writes), clock_(clock), retention_(retention) {}

  // --- Comments ---
  // Makes the video if it is new, and begins its time to live anew.
  Status TouchVideo(Deadline deadline, const VideoKey& key);
  // False where the part is there with other bytes, which stay.
  StatusOr<bool> PutRawPart(Deadline deadline, const VideoKey& key, const std::string& upload,
                            int part, std::string_view bytes);
  // All parts of an upload in order. FAILED_PRECONDITION when one is missing or they are too much.
  StatusOr<std::string> ReadRaw(Deadline deadline, const VideoKey& key, const std::string& upload,
                                int last_part, size_t max_bytes);
  // At most 1,000 comments with distinct ids.
  StatusOr<Imported> PutComments(Deadline deadline, const VideoKey& key,
                                 std::span<const Comment> comments);
  // Comments of a run's video by id, else by alias, in the order asked.
  struct FoundInput {
    VideoKey video;
    std::vector<FoundComment> comments;
  };
  StatusOr<FoundInput> FindInput(Deadline deadline, const NumberKey& run,
                                 std::span<const std::string> ids);
  StatusOr<std::vector<Comment>> NewestComments(Deadline deadline, const VideoKey& key, int count);
  StatusOr<int64_t> DeleteVideo(Deadline deadline, const VideoKey& key, const Actor& speaker);
  // Videos whose time is over, at most `limit`.
  StatusOr<std::vector<VideoKey>> ExpiredVideos(Deadline deadline, int limit);

  // --- What Redis shows ---
  struct Unprojected {
    VideoKey key;
    int64_t number = 0;
    int64_t revision = 0;
    Time expire_time;
  };
  // Videos whose projection is behind, at most `limit`.
  StatusOr<std::vector<Unprojected>> UnprojectedVideos(Deadline deadline, int limit);
  // Videos that have a projection, by number after `after`, at most `limit`; those whose
  // projection is behind only `with_behind`.
  StatusOr<std::vector<Unprojected>> ProjectedVideos(Deadline deadline, int64_t after, int limit,
                                                     bool with_behind);
  Status SetProjected(Deadline deadline, const Unprojected& video);
  // All that have a projection get it anew.
  Status ForgetProjections(Deadline deadline);
  // What readers see of a run changed otherwise than by the calls below.
  Status RaiseRevision(Deadline deadline, const VideoKey& key);

  // --- Calls that came with a request_id ---
  // What the call did; nothing when it is new. INVALID_ARGUMENT when it asked for something else.
  StatusOr<std::optional<Numbers>> FindRequest(Deadline deadline, const RequestKey& key);
  // Drops those that are older than videos get, at most `limit`; answers how many.
  StatusOr<int64_t> SweepRequests(Deadline deadline, int limit);

  // --- Runs ---
  StatusOr<Run> StartRun(Deadline deadline, const NewRun& run);
  // A budget of -1 leaves it as it is.
  StatusOr<Run> ResumeRun(Deadline deadline, const NumberKey& key, int64_t budget_micros);
  StatusOr<Run> GetRun(Deadline deadline, const NumberKey& key);
  StatusOr<std::vector<Run>> ListRuns(Deadline deadline, const VideoKey& key, int64_t before,
                                      int count);
  StatusOr<Run> CancelRun(Deadline deadline, const NumberKey& key);
  // Asked only of a run with failures.
  using MaxFailedShare = std::function<StatusOr<double>(const Run&)>;
  StatusOr<Run> ActivateRun(Deadline deadline, const NumberKey& key,
                            const MaxFailedShare& max_failed_share, const Actor& speaker);
  // Leaves the active run `key` for the one before. Without a request id one that is sent again
  // after UNAVAILABLE may be refused, as the first did it.
  StatusOr<Run> RollbackRun(Deadline deadline, const NumberKey& key, const Actor& speaker,
                            const RequestKey& request);
  // Complete runs that asked to be activated then, oldest first; and one that may not be.
  StatusOr<std::vector<Run>> RunsToActivate(Deadline deadline);
  Status DropActivation(Deadline deadline, int64_t run);
  // A run that waits, or whose worker is gone; none when there is none.
  StatusOr<std::optional<Lease>> LeaseRun(Deadline deadline, const std::string& owner,
                                          std::span<const std::string> classifiers);
  // Input of the run without an outcome, after the comment `after`, by number.
  StatusOr<std::vector<Comment>> ReadPending(Deadline deadline, const Lease& lease, int64_t after,
                                             int count);
  // What was said of the same texts under `cache_name`, by comment.
  StatusOr<std::vector<CommentOutcome>> ReadCache(Deadline deadline, const std::string& cache_name,
                                                  std::span<const Comment> comments);
  // Drops, of verdicts kept longer than videos are, at most `limit`; answers how many.
  StatusOr<int64_t> SweepCache(Deadline deadline, int limit);
  // Sets cost aside that a call may cause; 0: the budget of the run does not hold it.
  // FAILED_PRECONDITION when the lease is lost.
  StatusOr<int64_t> ReserveCost(Deadline deadline, const Lease& lease, int64_t micros);
  // FAILED_PRECONDITION when it is lost.
  Status ExtendLease(Deadline deadline, const Lease& lease);
  // Writes outcomes under the lease, extends it and settles a reservation, once; the verdicts are
  // kept under `cache_name` unless it is empty. FAILED_PRECONDITION when the lease is lost or the
  // run ended: drop it.
  StatusOr<Written> WriteOutcomes(Deadline deadline, const Lease& lease,
                                  std::span<const CommentOutcome> outcomes,
                                  const Settlement& settlement = {},
                                  const std::string& cache_name = "");
  Status PauseRun(Deadline deadline, const Lease& lease, Failure reason);
  Status ReleaseRun(Deadline deadline, const Lease& lease);
  // Of an external agent, of distinct comments. FAILED_PRECONDITION unless the run is external and
  // not cancelled. What it changes for readers of an active run is in the audit.
  StatusOr<Written> IngestOutcomes(Deadline deadline, const NumberKey& key,
                                   std::span<const CommentOutcome> outcomes,
                                   const std::string& actor);
  struct Agreement {
    int64_t same = 0;
    int64_t different = 0;
  };
  // How many comments a run and the one before it judge alike, by their own verdicts; none when
  // the run is not active any more.
  StatusOr<Agreement> CompareActive(Deadline deadline, int64_t run);
  StatusOr<Comparison> CompareRuns(Deadline deadline, const NumberKey& run, int64_t base,
                                   const std::string& after, int count, bool with_matrix);

  // --- Reads ---
  // One per id, in order, all of one run; nothing for an unknown one. An ambiguous alias answers
  // with number -1.
  StatusOr<std::vector<std::optional<Resolved>>> GetClassifications(
      Deadline deadline, const VideoKey& key, std::span<const std::string> ids);
  struct Page {
    int64_t run = 0;
    std::vector<Resolved> items;  // one more than a page when there are more
    // The last comment that a search for unclassified ones looked at, where it stopped early.
    std::optional<Resolved> stopped{};
  };
  // INVALID_PAGE_TOKEN when the run of an earlier page is gone.
  StatusOr<Page> List(Deadline deadline, const ListQuery& query);
  StatusOr<Page> ListUnclassified(Deadline deadline, const ListQuery& query);
  struct Counted {
    StatusCounts counts{};
    int64_t run = 0;
  };
  StatusOr<Counted> Count(Deadline deadline, const VideoKey& key);
  // Comments by id after `after` with their verdicts in a run (0: the active one).
  StatusOr<Page> Export(Deadline deadline, const VideoKey& key, int64_t run,
                        const std::string& after, int count);
  StatusOr<std::vector<Resolved>> ListConflicts(Deadline deadline, const VideoKey& key,
                                                const std::string& after, int count);

  // --- People ---
  StatusOr<OverrideResult> Override(Deadline deadline, const OverrideRequest& request);
  StatusOr<UndoResult> UndoOverrides(Deadline deadline, const UndoRequest& request);
  struct NewAppeal {
    VideoKey video;
    std::string comment_id;
    Actor speaker;
    RequestKey request{};
  };
  StatusOr<Appeal> CreateAppeal(Deadline deadline, const NewAppeal& appeal);
  StatusOr<Appeal> GetAppeal(Deadline deadline, const NumberKey& key);
  struct AppealQuery {
    std::string ns;
    std::string video_id;  // empty: all
    AppealState state = AppealState::kNone;
    int64_t before = 0;
    int count = 0;
  };
  StatusOr<std::vector<Appeal>> ListAppeals(Deadline deadline, const AppealQuery& query);
  struct Resolution {
    NumberKey appeal;
    AppealState state = AppealState::kNone;  // kGranted, kRejected
    CommentStatus status = CommentStatus::kNone;
    Actor speaker;
    RequestKey request{};
  };
  StatusOr<Appeal> ResolveAppeal(Deadline deadline, const Resolution& resolution);

  // --- Policies and audit ---
  struct PolicyRow {
    int64_t version = 0;
    std::string body;
    Time create_time;
  };
  // Version 0 is the newest. NOT_FOUND.
  StatusOr<PolicyRow> GetPolicy(Deadline deadline, const std::string& ns, const std::string& name,
                                int64_t version);
  struct NewPolicy {
    std::string ns;
    std::string name;
    int64_t base = 0;   // the version it was made from
    int64_t first = 0;  // what is the newest where none is stored
    std::string body;
    AuditEntry audit;
    RequestKey request{};
  };
  // The version. ABORTED (STALE_ETAG) unless `base` is the newest one.
  StatusOr<int64_t> PutPolicy(Deadline deadline, const NewPolicy& policy);
  StatusOr<std::vector<AuditEntry>> ListAudit(Deadline deadline, const std::string& ns,
                                              const std::string& video_id, int64_t before,
                                              int count);
  // Entries of transactions that were all over when it was read, in the order of their writers.
  struct Change {
    AuditEntry entry;
    uint64_t writer = 0;
  };
  struct Changes {
    std::vector<Change> entries;
    uint64_t epoch = 0;  // of the history that the writers' numbers are of
  };
  StatusOr<Changes> ReadChanges(Deadline deadline, const std::string& ns, uint64_t writer,
                                int64_t id, int count);
  // Where a watch that begins now begins, and in which history of the store.
  struct Head {
    uint64_t writer = 0;
    uint64_t epoch = 0;
  };
  StatusOr<Head> ChangesHead(Deadline deadline);

 private:
  pg::Pool& reads_;
  pg::Pool& writes_;
  const Clock& clock_;
  const Micros retention_;
};

}  // namespace winnow::classification
