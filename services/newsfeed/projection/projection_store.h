#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/newsfeed/projection/projected_feed.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"

// What the store keeps of the projection: who may write it, and what was written.
namespace winnow::newsfeed {

// Articles whose deletion stands in the log up to a position, and which are still deleted.
struct Deletions {
  std::vector<std::string> ids;
  int64_t until = 0;
  int64_t head = 0;
  std::string epoch;
};

class ProjectionStore {
 public:
  ProjectionStore(pg::Pool& reads, pg::Pool& writes) : reads_(reads), writes_(writes) {}

  // The fence of the lease, which `holder` (a uuid) has now for `lasts`, or nothing when another
  // has it. Each new holder has a greater fence than all before.
  StatusOr<std::optional<int64_t>> TakeLease(Deadline deadline, const std::string& holder,
                                             std::chrono::milliseconds lasts);
  Status ReleaseLease(Deadline deadline, const std::string& holder);

  // Notes what is about to be written; false when one with a greater fence has done so.
  StatusOr<bool> Note(Deadline deadline, const std::string& feed, const ProjectedFeed& projected,
                      int64_t fence);
  StatusOr<std::optional<ProjectedFeed>> Find(Deadline deadline, const std::string& feed);

  // Of a namespace, after the position `after`, from at most `limit` positions of the log. Nothing
  // for `after`: none, and the log's head as `until`.
  StatusOr<Deletions> ReadDeletions(Deadline deadline, const std::string& ns,
                                    std::optional<int64_t> after, int64_t limit);

 private:
  pg::Pool& reads_;
  pg::Pool& writes_;
};

}  // namespace winnow::newsfeed
