#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "services/newsfeed/articles/category_store.h"
#include "services/newsfeed/feed/feed_memory.h"
#include "services/newsfeed/feed/feed_store.h"
#include "services/newsfeed/projection/projection.h"
#include "services/newsfeed/projection/projection_audit_client.h"
#include "services/newsfeed/projection/projection_store.h"
#include "services/platform/base/status.h"
#include "services/platform/process/metrics.h"
#include "services/platform/process/periodic_thread.h"
#include "services/platform/redis/client.h"
#include "services/platform/redis/foreign_keys.h"
#include "services/platform/redis/ownership.h"

namespace winnow::newsfeed {

struct ProjectionWorkerOptions {
  std::chrono::milliseconds interval{1'000};  // between looks at what has changed
  std::chrono::milliseconds lease{15'000};
  std::chrono::minutes refresh{15};  // TTLs are set anew at least so often
  // In which every article in Redis is looked at once. Less than the interval: with each look.
  std::chrono::milliseconds audit{45'000};
  bool adopt = false;  // keys of other programs, once
  Micros stale_after = std::chrono::minutes(10);
};

// Writes the newest part of each feed to Redis, for programs that read the published layout and for
// processes that start cold. One process at a time does, by a fenced lease. A feed that Redis lost
// is written again with the next look, an article within `audit`; a deleted article leaves with the
// next look. A feed that would change a key of another program is not written, until no such key is
// there (redis/ownership.h). While Redis is away nothing is asked of the store for it.
class ProjectionWorker {
 public:
  ProjectionWorker(FeedStore& feeds, CategoryStore& categories, ProjectionStore& projections,
                   redis::Client& redis, const Clock& clock, ProjectionWorkerOptions options,
                   Metrics& metrics);
  ~ProjectionWorker();  // stops

  void Start();
  void Stop();
  // One look, as Start does at each interval. For tests.
  Status Look();

  // Has the feed written again with the next look, whatever stands there. Of this process only: the
  // one that projects may be another.
  void Renew(const std::string& category);
  bool away() const { return redis_.away(); }
  // A health probe: an error while keys of other programs stop a feed.
  Status CheckKeys() const { return foreign_.Check(); }

  // What Redis has of a feed, whole and as it was noted in the store; nothing when it has not, or
  // is away. Ends within a fraction of a second.
  std::optional<FeedFill> Read(const std::string& ns, const std::string& category);

 private:
  enum class WriteResult { kWritten, kFenced, kLocked, kForeign };

  std::chrono::milliseconds Step();
  StatusOr<std::vector<std::string>> Categories(Deadline deadline);
  StatusOr<FeedPage> ReadFeed(Deadline deadline, const std::string& category);
  Status AdoptKeys(Deadline deadline);
  // Takes deleted articles out of Redis, whichever feeds showed them.
  Status RemoveDeleted(Deadline deadline, int64_t fence);
  Status Audit(Deadline deadline);
  // Feeds that no key of another program stops any more go on.
  Status RecheckStopped(Deadline deadline);
  Status ProjectAll(Deadline deadline, const std::vector<std::string>& categories, int64_t fence);
  void Forget(const std::vector<std::string>& categories);
  Status Project(Deadline deadline, const std::string& category, int64_t fence);
  StatusOr<WriteResult> TryWrite(Deadline deadline, const std::string& category,
                                 const FeedPage& page, const ProjectionState& state,
                                 const std::vector<std::string>& bytes);
  // Under news:lock:{category}.
  StatusOr<WriteResult> WriteLocked(Deadline deadline, const std::string& category,
                                    const FeedPage& page, const ProjectionState& state,
                                    const std::vector<std::string>& bytes);
  StatusOr<WriteResult> Write(Deadline deadline, const std::string& category, const FeedPage& page,
                              const ProjectionState& state, const std::vector<std::string>& bytes);
  WriteResult StopFeed(const std::string& category, std::vector<redis::PublishedKey> keys);
  void LogLocked(const std::string& category);
  void ExtendLives();

  FeedStore& feeds_;
  CategoryStore& categories_;
  ProjectionStore& projections_;
  redis::Client& redis_;
  const Clock& clock_;
  const ProjectionWorkerOptions options_;
  const std::string holder_;
  Counter& written_;
  Counter& failed_;
  Counter& refused_;
  Counter& extended_;
  Counter& locked_;
  Counter& foreign_results_;
  Gauge& leads_;
  Counter& removed_;
  redis::ForeignKeys foreign_;
  ProjectionAuditClient audit_;
  // Of the projecting thread, by category:
  WrittenFeeds last_;
  std::map<std::string, std::vector<redis::PublishedKey>> stopped_;  // by keys of other programs
  std::map<std::string, std::chrono::steady_clock::time_point> locked_since_;
  std::optional<ProjectedFeed> deletions_;  // how far deletions were followed
  int64_t noted_deletions_ = 0;             // position of these that the store has
  bool adopted_ = false;
  bool is_failing_ = false;
  std::mutex mutex_;
  std::set<std::string> renewed_;
  PeriodicThread thread_;  // last: ends before what its steps use
};

}  // namespace winnow::newsfeed
