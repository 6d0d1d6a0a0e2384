#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "services/classification/comments/comment_records.h"
#include "services/classification/comments/verdict_store.h"
#include "services/classification/projection/projection_store.h"
#include "services/platform/process/metrics.h"
#include "services/platform/process/periodic_thread.h"
#include "services/platform/redis/client.h"
#include "services/platform/redis/foreign_keys.h"
#include "services/platform/redis/ownership.h"

namespace winnow::classification {

// Keys of a video in Redis. Those in braces share the first one's slot, whatever the video's name.
struct ProjectionKeys {
  explicit ProjectionKeys(const VideoKey& video, const std::string& stage);
  std::string verdicts;  // Hash "video:{id}:classification": id -> {"status":...}, and _metadata
  std::string filtered;  // ZSET by time in ms, of filtered comments
  std::string counts;    // Hash: status -> count, and revision
  std::string next;      // where the next verdicts are staged; likewise the two below
  std::string next_filtered;
  std::string next_counts;
};

// The Hash, and what recognises one of a build that kept no record of ownership. `ttl`: for
// writing.
redis::PublishedKey PublishedVerdicts(const ProjectionKeys& keys,
                                      std::chrono::milliseconds ttl = std::chrono::hours(1));
// The part of the projection that one video is.
inline std::string PartOf(const VideoKey& video) { return video.ns + "/" + video.video_id; }

struct ProjectionOptions {
  std::chrono::milliseconds poll{1'000};
  // In which every projected video is compared once with what Redis holds of it, while there are
  // fewer than kMaxAuditSlice for each poll. Less than `poll`: all with each poll.
  std::chrono::milliseconds audit{45'000};
  bool adopt = false;  // keys of other programs, once
};
inline constexpr int kMaxAuditSlice = 2'000;

// Writes the active runs to Redis in the published layout, for programs that know it. Truth stays
// in PostgreSQL: a video whose revision is not the projected one is written again, all are when
// Redis lost them, and one of which Redis lost a part is found by an audit. Staged aside in chunks
// that expire, swapped by one script: who reads the Hash never sees a mix of runs, nor an older
// state after a newer one. A Hash of another program stays as it is (redis/ownership.h).
class ProjectionWorker {
 public:
  ProjectionWorker(ProjectionStore& store, VerdictStore& verdicts, redis::Client& redis,
                   const Clock& clock, ProjectionOptions options, Metrics& metrics);
  ~ProjectionWorker() { Stop(); }

  void Start();
  void Stop() { thread_.Stop(); }
  void Wake() { thread_.Wake(); }
  // One round: what waits is written. For tests too.
  Status ProjectAll();
  // One slice of the audit, as each poll does. For tests too.
  Status Audit();
  // Removes the keys of a deleted video. If Redis is unavailable, logs a warning: they expire.
  void Remove(const VideoKey& video);
  // A Redis string, for ImportComments. NOT_FOUND.
  StatusOr<std::string> Read(Deadline deadline, const std::string& key);
  // A health probe: an error while keys of other programs stop a video's projection.
  Status CheckKeys() const { return foreign_.Check(); }

 private:
  Status Look();
  Status CheckMarker();
  Status AdoptKeys();
  Status Project(const ProjectionStore::Unprojected& video);
  // Whether the video's Hash may be written; notes a key of another program.
  StatusOr<bool> MayWrite(const ProjectionStore::Unprojected& video, const ProjectionKeys& keys);
  Status WriteStaged(const ProjectionStore::Unprojected& video, const ProjectionKeys& keys);
  // The videos of which Redis holds something other than what was written.
  StatusOr<std::vector<ProjectionStore::Unprojected>> FindLost(
      std::span<const ProjectionStore::Unprojected> videos);
  void BeginAudit();
  void EndAudit();
  Status Stage(const ProjectionStore::Unprojected& video, const ProjectionKeys& keys,
               StatusCounts& counts, std::string& metadata);

  ProjectionStore& store_;
  VerdictStore& verdicts_;
  redis::Client& redis_;
  const Clock& clock_;
  const ProjectionOptions options_;
  Counter& projected_;
  Counter& failed_;
  Counter& foreign_results_;
  Counter& lost_;
  Gauge& audit_seconds_;
  Gauge& audit_videos_;
  redis::ForeignKeys foreign_;
  // Of the thread alone:
  bool adopted_ = false;
  bool failed_before_ = false;  // logged once
  std::chrono::steady_clock::time_point next_audit_;
  std::optional<std::chrono::steady_clock::time_point> audit_begun_;  // none: no round is on
  int64_t audit_after_ = 0;           // number of the last video that was looked at
  int64_t audit_count_ = 0;           // videos of this round so far
  int audit_slice_ = kMaxAuditSlice;  // sized by the round before
  std::set<std::string> audit_foreign_;
  PeriodicThread thread_;
};

}  // namespace winnow::classification
