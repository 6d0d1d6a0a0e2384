#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "services/newsfeed/feed_memory.h"
#include "services/newsfeed/projection.h"
#include "services/newsfeed/store.h"
#include "services/newsfeed/store_projection.h"
#include "services/platform/metrics.h"
#include "services/platform/redis/client.h"
#include "services/platform/status.h"

namespace winnow::newsfeed {

struct ProjectorOptions {
  std::chrono::milliseconds interval{1'000};  // between looks at what has changed
  std::chrono::milliseconds lease{15'000};
  std::chrono::minutes refresh{15};  // TTLs are set anew at least so often
  Micros stale_after = std::chrono::minutes(10);
};

// Writes the newest part of each feed to Redis, for programs that read the published layout and for
// processes that start cold. One process at a time does, by a fenced lease. What is lost from Redis
// comes back with the next look; while Redis is away nothing is asked of the store for it.
class Projector {
 public:
  Projector(Store& store, ProjectionStore& projections, redis::Client& redis, const Clock& clock,
            ProjectorOptions options, Metrics& metrics);
  ~Projector();  // stops

  void Start();
  void Stop();
  // One look, as Start does at each interval. For tests.
  Status Look();

  // Has the feed written again with the next look, whatever stands there. Of this process only: the
  // one that projects may be another.
  void Renew(const std::string& category);
  bool away() const { return redis_.away(); }

  // What Redis has of a feed, whole and as it was noted in the store; nothing when it has not, or
  // is away. Ends within a fraction of a second.
  std::optional<FeedFill> Read(const std::string& ns, const std::string& category);

 private:
  struct Written {
    Hash128Value content;  // of what was written, position apart
    int64_t position = 0;
    std::chrono::steady_clock::time_point at;
    std::vector<std::string> ids;
  };

  void Loop();
  StatusOr<std::vector<std::string>> Categories(Deadline deadline);
  Status Project(Deadline deadline, const std::string& category, int64_t fence,
                 const std::optional<std::string>& position_in_redis);
  Status Write(Deadline deadline, const std::string& category, const FeedPage& page,
               const ProjectionState& state, const std::vector<std::string>& bytes);
  void ExtendLives();

  Store& store_;
  ProjectionStore& projections_;
  redis::Client& redis_;
  const Clock& clock_;
  const ProjectorOptions options_;
  const std::string holder_;
  Counter& written_;
  Counter& failed_;
  Counter& refused_;
  Counter& extended_;
  Gauge& leads_;
  std::map<std::string, Written> last_;  // by category; of the projecting thread
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::set<std::string> renewed_;
  std::thread thread_;
};

}  // namespace winnow::newsfeed
