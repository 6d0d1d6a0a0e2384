#pragma once

#include <string>

#include "services/newsfeed/api/feed_status.h"
#include "services/newsfeed/feed/feed_store.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::newsfeed {

// Reads the position of the feeds' log and how fresh a namespace is.
class StatusStore {
 public:
  StatusStore(pg::Pool& reads, FeedStore& feeds) : reads_(reads), feeds_(feeds) {}

  // NOT_FOUND for a category that does not exist.
  StatusOr<StoreStatus> Read(Deadline deadline, const std::string& ns, const std::string& category);

 private:
  pg::Pool& reads_;
  FeedStore& feeds_;
};

}  // namespace winnow::newsfeed
