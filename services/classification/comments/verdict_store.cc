#include "services/classification/comments/verdict_store.h"

#include <limits>

#include "services/classification/comments/comment_sql.h"
#include "services/classification/comments/verdict_store.sql.h"

namespace winnow::classification {
namespace {

Resolved ToResolved(const pqxx::row& row, int first) {
  Resolved resolved;
  const auto at = [&](int column) { return row[first + column]; };
  resolved.comment_id = at(0).as<std::string>();
  resolved.status = static_cast<CommentStatus>(at(1).as<int>());
  resolved.own_status = static_cast<CommentStatus>(at(2).as<int>());
  resolved.reason = at(3).as<std::string>();
  resolved.score = at(4).as<float>();
  resolved.source = static_cast<Source>(at(5).as<int>());
  resolved.failure = static_cast<Failure>(at(6).as<int>());
  resolved.run = at(7).as<int64_t>();
  resolved.model = at(8).as<std::string>();
  resolved.policy = at(9).as<std::string>();
  resolved.policy_version = at(10).as<int64_t>();
  resolved.stale = at(11).as<bool>();
  resolved.overridden = at(12).as<bool>();
  resolved.sort_time = pg::ToTime(at(13));
  resolved.number = at(14).as<int64_t>();
  resolved.decide_time = pg::ToOptionalTime(at(15));
  resolved.actor = at(16).as<std::string>();
  resolved.override_time = pg::ToOptionalTime(at(17));
  return resolved;
}

// Rows of (run, comment or null, resolved columns).
VerdictStore::Page ToPage(const pqxx::result& rows) {
  VerdictStore::Page page;
  page.run = rows[0][0].as<int64_t>();
  for (const pqxx::row& row : rows) {
    if (!row[1].is_null()) page.items.push_back(ToResolved(row, 2));
  }
  return page;
}

// Why a list of a video has no row at all.
Status NoRows(pg::Session& session, const VideoKey& key) {
  WINNOW_RETURN_IF_ERROR(FindVideo(session, key).status());
  return InvalidPageToken("its run is gone: begin again without it");
}

}  // namespace

StatusOr<std::vector<std::optional<Resolved>>> VerdictStore::GetClassifications(
    Deadline deadline, const VideoKey& key, std::span<const std::string> ids) {
  using Found = std::vector<std::optional<Resolved>>;
  pg::Array array;
  for (const std::string& id : ids) array.Add(id);
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Found> {
    const pqxx::result rows =
        session.Execute(sql::kGetClassifications, key.ns, key.video_id, array);
    if (rows.empty()) WINNOW_RETURN_IF_ERROR(FindVideo(session, key).status());
    Found found(ids.size());
    for (const pqxx::row& row : rows) {
      Resolved resolved = ToResolved(row, 2);
      if (row[1].as<int>() > 1) resolved.number = -1;
      found[row[0].as<size_t>() - 1] = std::move(resolved);
    }
    return found;
  });
}

StatusOr<VerdictStore::Page> VerdictStore::List(Deadline deadline, const ListQuery& query) {
  const bool newest = query.order == Order::kNewest;
  const bool begun = query.after_number != 0;
  const int64_t number = begun ? query.after_number : std::numeric_limits<int64_t>::max();
  const std::string time = query.after_time ? pg::ToParameter(*query.after_time) : "infinity";
  const double score = begun ? static_cast<double>(query.after_score) : 2;
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Page> {
    const auto& [ns, video] = query.video;
    const int status = static_cast<int>(query.status);
    const pqxx::result rows = newest ? session.Execute(sql::kListNewest, ns, video, query.run,
                                                       status, time, number, query.page_size + 1)
                                     : session.Execute(sql::kListHighest, ns, video, query.run,
                                                       status, score, number, query.page_size + 1);
    if (rows.empty()) return NoRows(session, query.video);
    return ToPage(rows);
  });
}

StatusOr<VerdictStore::Page> VerdictStore::ListUnclassified(Deadline deadline,
                                                            const ListQuery& query) {
  const std::string time = query.after_time ? pg::ToParameter(*query.after_time) : "infinity";
  const int64_t number =
      query.after_number != 0 ? query.after_number : std::numeric_limits<int64_t>::max();
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Page> {
    const auto& [ns, video] = query.video;
    const pqxx::result coverage = session.Execute(sql::kRunCoverage, ns, video, query.run);
    if (coverage.empty()) return NoRows(session, query.video);
    Page page{coverage[0][0].as<int64_t>(), {}};
    if (coverage[0][1].as<int64_t>() == 0) return page;
    for (const pqxx::row& row : session.Execute(sql::kListUnclassified, ns, video, page.run, time,
                                                number, query.page_size + 1)) {
      if (row[0].as<bool>()) page.stopped = ToResolved(row, 2);
      if (row[1].as<bool>()) page.items.push_back(ToResolved(row, 2));
    }
    return page;
  });
}

StatusOr<VerdictStore::Counted> VerdictStore::Count(Deadline deadline, const VideoKey& key) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Counted> {
    const pqxx::result rows = session.Execute(sql::kCount, key.ns, key.video_id);
    if (rows.empty()) return NotFound("video", key.video_id);
    Counted counted;
    counted.run = rows[0][0].as<int64_t>();
    for (int i = 0; i < static_cast<int>(kStatuses); ++i) {
      counted.counts[static_cast<size_t>(i)] = rows[0][i + 1].as<int64_t>();
    }
    return counted;
  });
}

StatusOr<VerdictStore::Page> VerdictStore::Export(Deadline deadline, const VideoKey& key,
                                                  int64_t run, const std::string& after,
                                                  int count) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Page> {
    const pqxx::result rows =
        session.Execute(sql::kExport, key.ns, key.video_id, run, after, count);
    if (rows.empty()) return NoRows(session, key);
    return ToPage(rows);
  });
}

StatusOr<std::vector<Resolved>> VerdictStore::ListConflicts(Deadline deadline, const VideoKey& key,
                                                            const std::string& after, int count) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::vector<Resolved>> {
    WINNOW_RETURN_IF_ERROR(FindVideo(session, key).status());
    std::vector<Resolved> conflicts;
    for (const pqxx::row& row :
         session.Execute(sql::kConflicts, key.ns, key.video_id, after, count)) {
      conflicts.push_back(ToResolved(row, 2));
    }
    return conflicts;
  });
}

}  // namespace winnow::classification
