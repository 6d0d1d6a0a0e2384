#pragma once

#include <cstdint>
#include <vector>

#include "services/classification/comments/comment_records.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::classification {

// Which revision of each video Redis shows. Thread-safe.
class ProjectionStore {
 public:
  ProjectionStore(pg::Pool& reads, pg::Pool& writes) : reads_(reads), writes_(writes) {}

  struct Unprojected {
    VideoKey key;
    int64_t number = 0;
    int64_t revision = 0;
    Time expire_time;
  };
  // At most `limit` videos whose projection is older than their revision.
  StatusOr<std::vector<Unprojected>> UnprojectedVideos(Deadline deadline, int limit);
  // At most `limit` videos with a projection and a number above `after`, by number; those whose
  // projection is outdated only `with_behind`.
  StatusOr<std::vector<Unprojected>> ProjectedVideos(Deadline deadline, int64_t after, int limit,
                                                     bool with_behind);
  Status SetProjected(Deadline deadline, const Unprojected& video);
  // Makes every projection outdated.
  Status ForgetProjections(Deadline deadline);

 private:
  pg::Pool& reads_;
  pg::Pool& writes_;
};

}  // namespace winnow::classification
