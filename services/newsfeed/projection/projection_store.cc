#include "services/newsfeed/projection/projection_store.h"

#include <algorithm>

#include "services/newsfeed/articles/article_sql.h"
#include "services/newsfeed/articles/feeds_log_sql.h"

namespace winnow::newsfeed {
namespace {

constexpr pg::Statement kTake{
    "newsfeed.take_projector_lease",
    "INSERT INTO newsfeed.projector_lease AS l (holder, fence, expire_time) VALUES ($1::uuid, 1, "
    "clock_timestamp() + $2::bigint * interval '1 millisecond') ON CONFLICT (only_row) DO UPDATE "
    "SET holder = excluded.holder, fence = CASE WHEN l.holder = excluded.holder THEN l.fence "
    "ELSE l.fence + 1 END, expire_time = excluded.expire_time "
    "WHERE l.holder = excluded.holder OR l.expire_time < clock_timestamp() RETURNING fence"};

constexpr pg::Statement kRelease{
    "newsfeed.release_projector_lease",
    "UPDATE newsfeed.projector_lease SET expire_time = '-infinity' WHERE holder = $1::uuid"};

constexpr pg::Statement kNote{
    "newsfeed.note_projection",
    "INSERT INTO newsfeed.projections AS p (feed, position, epoch, checksum, fence, projected_at) "
    "VALUES ($1, $2, $3, $4::uuid, $5, clock_timestamp()) ON CONFLICT (feed) DO UPDATE SET "
    "position = excluded.position, epoch = excluded.epoch, checksum = excluded.checksum, "
    "fence = excluded.fence, projected_at = excluded.projected_at WHERE p.fence <= excluded.fence "
    "RETURNING 1"};

constexpr pg::Statement kFind{
    "newsfeed.find_projection",
    "SELECT position, epoch, checksum, projected_at FROM newsfeed.projections WHERE feed = $1"};

constexpr pg::Statement kDeletions{
    "newsfeed.read_deletions",
    "SELECT DISTINCT l.id FROM (SELECT l.id FROM newsfeed.feed_log l "
    "WHERE l.seq > $1 AND l.seq <= $2 AND l.change = 3 AND l.namespace = $3 LIMIT $4) l "
    "CROSS JOIN LATERAL (SELECT FROM newsfeed.news_articles a "
    "WHERE a.namespace = $3 AND a.id = l.id AND a.is_deleted LIMIT 1) a"};

}  // namespace

StatusOr<std::optional<int64_t>> ProjectionStore::TakeLease(Deadline deadline,
                                                            const std::string& holder,
                                                            std::chrono::milliseconds lasts) {
  return writes_.Statements(
      deadline, [&](pg::Session& session) -> StatusOr<std::optional<int64_t>> {
        const pqxx::result rows = session.Execute(kTake, holder, int64_t{lasts.count()});
        if (rows.empty()) return std::optional<int64_t>();
        return std::optional(rows[0][0].as<int64_t>());
      });
}

Status ProjectionStore::ReleaseLease(Deadline deadline, const std::string& holder) {
  return writes_.Statements(deadline, [&](pg::Session& session) {
    session.Execute(kRelease, holder);
    return OkStatus();
  });
}

StatusOr<bool> ProjectionStore::Note(Deadline deadline, const std::string& feed,
                                     const ProjectedFeed& projected, int64_t fence) {
  return writes_.Statements(deadline, [&](pg::Session& session) -> StatusOr<bool> {
    return !session
                .Execute(kNote, feed, projected.position, projected.epoch,
                         ToUuid(projected.checksum), fence)
                .empty();
  });
}

StatusOr<std::optional<ProjectedFeed>> ProjectionStore::Find(Deadline deadline,
                                                             const std::string& feed) {
  return reads_.Statements(
      deadline, [&](pg::Session& session) -> StatusOr<std::optional<ProjectedFeed>> {
        const pqxx::result rows = session.Execute(kFind, feed);
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
    for (const pqxx::row& row : session.Execute(kDeletions, *after, deletions.until, ns, limit)) {
      deletions.ids.push_back(row[0].as<std::string>());
    }
    return deletions;
  });
}

}  // namespace winnow::newsfeed
