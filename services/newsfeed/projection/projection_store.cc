#include "services/newsfeed/projection/projection_store.h"

#include <algorithm>

#include "services/newsfeed/articles/article_sql.h"
#include "services/newsfeed/articles/feeds_log_sql.h"
#include "services/newsfeed/projection/projection_store.sql.h"

namespace winnow::newsfeed {
StatusOr<std::optional<int64_t>> ProjectionStore::TakeLease(Deadline deadline,
                                                            const std::string& holder,
                                                            std::chrono::milliseconds lasts) {
  return writes_.Statements(
      deadline, [&](pg::Session& session) -> StatusOr<std::optional<int64_t>> {
        const pqxx::result rows =
            session.Execute(sql::kTakeProjectorLease, holder, int64_t{lasts.count()});
        if (rows.empty()) return std::optional<int64_t>();
        return std::optional(rows[0][0].as<int64_t>());
      });
}

Status ProjectionStore::ReleaseLease(Deadline deadline, const std::string& holder) {
  return writes_.Statements(deadline, [&](pg::Session& session) {
    session.Execute(sql::kReleaseProjectorLease, holder);
    return OkStatus();
  });
}

StatusOr<bool> ProjectionStore::Note(Deadline deadline, const std::string& feed,
                                     const ProjectedFeed& projected, int64_t fence) {
  return writes_.Statements(deadline, [&](pg::Session& session) -> StatusOr<bool> {
    return !session
                .Execute(sql::kNoteProjection, feed, projected.position, projected.epoch,
                         ToUuid(projected.checksum), fence)
                .empty();
  });
}

StatusOr<std::optional<ProjectedFeed>> ProjectionStore::Find(Deadline deadline,
                                                             const std::string& feed) {
  return reads_.Statements(
      deadline, [&](pg::Session& session) -> StatusOr<std::optional<ProjectedFeed>> {
        const pqxx::result rows = session.Execute(sql::kFindProjection, feed);
        if (rows.empty()) return std::optional<ProjectedFeed>();
        return std::optional(ProjectedFeed{rows[0][0].as<int64_t>(), rows[0][1].as<std::string>(),
                                           FromUuid(rows[0][2]), pg::ToTime(rows[0][3])});
      });
}

StatusOr<Deletions> ProjectionStore::ReadDeletions(Deadline deadline, const std::string& ns,
                                                   std::optional<int64_t> after, int64_t limit) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Deletions> {
    WINNOW_ASSIGN_OR_RETURN(pg::Head head, pg::ReadHead(session, FeedsStream()));
    Deletions deletions;
    deletions.head = head.head;
    deletions.epoch = std::move(head.epoch);
    deletions.until = head.head;
    if (!after || *after >= head.head) return deletions;
    deletions.until = std::min(head.head, *after + limit);
    for (const pqxx::row& row :
         session.Execute(sql::kReadDeletions, *after, deletions.until, ns, limit)) {
      deletions.ids.push_back(row[0].as<std::string>());
    }
    return deletions;
  });
}

}  // namespace winnow::newsfeed
