#pragma once

#include <string>

#include "services/newsfeed/feed/feed_query.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::newsfeed {

// Reads feeds. NOT_FOUND for a category that does not exist.
class FeedStore {
 public:
  explicit FeedStore(pg::Pool& reads) : reads_(reads) {}

  // One page.
  StatusOr<FeedPage> ListArticles(Deadline deadline, const FeedQuery& query);
  // Counts the entries after `query.position`: after the watermark of a scroll, or after the
  // position at which the newer feed begins.
  StatusOr<NewerCount> CountNewer(Deadline deadline, const FeedQuery& query);
  // OK if the feed exists.
  Status CheckFeed(Deadline deadline, const std::string& ns, const std::string& category);

 private:
  pg::Pool& reads_;
};

}  // namespace winnow::newsfeed
