#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "services/classification/records.h"
#include "services/classification/store.h"
#include "services/platform/metrics.h"
#include "services/platform/redis/client.h"

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

// Writes the active runs to Redis in the published layout, for programs that know it. Truth stays
// in PostgreSQL: a video whose revision is not the projected one is written again, and all are
// when Redis lost them. Staged aside in chunks that expire, swapped by one script: who reads the
// Hash never sees a mix of runs, nor an older state after a newer one.
class Projection {
 public:
  Projection(Store& store, redis::Client& redis, const Clock& clock, Metrics& metrics);
  ~Projection() { Stop(); }

  void Start();
  void Stop();
  void Wake();
  // One round: what waits is written. For tests too.
  Status ProjectAll();
  // Takes a deleted video away. While Redis is away its keys end by their time to live.
  Status Remove(const VideoKey& video);
  // A Redis string, for ImportComments. NOT_FOUND.
  StatusOr<std::string> Read(Deadline deadline, const std::string& key);

 private:
  void Loop();
  Status CheckMarker();
  Status Project(const Store::Unprojected& video);
  Status Stage(const Store::Unprojected& video, const ProjectionKeys& keys, StatusCounts& counts,
               std::string& metadata);

  Store& store_;
  redis::Client& redis_;
  const Clock& clock_;
  Counter& projected_;
  Counter& failed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool woken_ = false;
  std::thread thread_;
};

}  // namespace winnow::classification
