#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/status.h"
#include "services/platform/process/metrics.h"
#include "services/platform/redis/client.h"

namespace winnow::newsfeed {

// A feed as it was written to Redis.
struct WrittenFeed {
  Hash128Value content;  // position apart
  int64_t position = 0;
  std::chrono::steady_clock::time_point at;
  std::vector<std::string> ids;
};
using WrittenFeeds = std::map<std::string, WrittenFeed>;  // by category

// Finds feeds of which Redis lost a key. Feeds, their states and their metadata are looked at each
// time; the articles' hashes in slices, so that each is seen once in `period` while there are
// fewer than kMaxSlice for each look in it.
class ProjectionAuditClient {
 public:
  static constexpr size_t kMaxSlice = 5'000;

  // `interval`: between looks. `period`: zero for everything each time.
  ProjectionAuditClient(redis::Client& redis, std::chrono::milliseconds interval,
                        std::chrono::milliseconds period, Metrics& metrics);

  // The categories whose keys are not as they were written.
  StatusOr<std::set<std::string>> Look(Deadline deadline, const WrittenFeeds& written);

 private:
  struct Article {
    std::string id;
    std::string category;  // one that shows it
  };
  void BeginRound(const WrittenFeeds& written);
  void EndRound();

  redis::Client& redis_;
  const std::chrono::milliseconds interval_;
  const std::chrono::milliseconds period_;
  Counter& lost_;
  Gauge& round_seconds_;
  Gauge& articles_;
  std::deque<Article> queue_;  // of this round, not looked at yet
  size_t slice_ = 0;
  std::optional<std::chrono::steady_clock::time_point> round_begun_;
};

}  // namespace winnow::newsfeed
