#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/newsfeed/articles/article.h"
#include "services/newsfeed/write/feed_stats.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/log/log_transaction.h"
#include "services/platform/postgres/pool/pool.h"

// Daily counters, by the UTC day of arrival: what came of each category and source, what each
// channel cited. All of a day go together, 90 days later.
namespace winnow::newsfeed {

// Under the lock of the log.
void CountArticles(pg::LogSession& log, std::span<const StoredArticle> created);

// New citations of a channel.
struct ChannelCitations {
  std::string ns;
  std::string channel;
  int64_t count = 0;
};
void CountCitations(pg::LogSession& log, std::span<const ChannelCitations> cited);

class StatsStore {
 public:
  explicit StatsStore(pg::Pool& reads) : reads_(reads) {}
  // The keys with the largest counts of the days from `from` on, largest first.
  StatusOr<std::vector<FeedCounter>> Read(Deadline deadline, const StatsQuery& query);

 private:
  pg::Pool& reads_;
};

}  // namespace winnow::newsfeed
