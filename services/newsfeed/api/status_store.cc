#include "services/newsfeed/api/status_store.h"

#include "services/newsfeed/api/status_store.sql.h"
#include "services/newsfeed/articles/feeds_log_sql.h"
#include "services/newsfeed/feed/change_sql.h"
#include "services/newsfeed/search/index_store.h"

namespace winnow::newsfeed {
StatusOr<StoreStatus> StatusStore::Read(Deadline deadline, const std::string& ns,
                                        const std::string& category) {
  WINNOW_RETURN_IF_ERROR(feeds_.CheckFeed(deadline, ns, category));
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<StoreStatus> {
    StoreStatus status;
    WINNOW_ASSIGN_OR_RETURN(pg::Head head, pg::ReadHead(session, FeedsStream()));
    status.head = head.head;
    status.epoch = std::move(head.epoch);
    const auto fresh = ReadFreshness(session, {ns});
    if (const auto found = fresh.find(ns); found != fresh.end()) status.freshness = found->second;
    status.pending_categories = session.Execute(sql::kCountTreeWork)[0][0].as<int64_t>();
    status.index = ReadIndexProgress(session);
    return status;
  });
}

}  // namespace winnow::newsfeed
