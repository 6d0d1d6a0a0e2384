#include "services/classification/comments/verdict_store.h"

#include <limits>

#include "services/classification/comments/comment_sql.h"

namespace winnow::classification {
namespace {

// Of v (verdict or null), c (comment), r (run), o (override or null).
#define WINNOW_RESOLVED                                                                   \
  "c.id, coalesce(v.resolved, 0), coalesce(v.status, 0), "                                \
  "CASE WHEN v.overridden THEN coalesce(o.reason, '') ELSE coalesce(v.reason, '') END, "  \
  "coalesce(v.score, -1), CASE WHEN v.overridden THEN 5 ELSE coalesce(v.source, 0) END, " \
  "coalesce(v.failure, 0), CASE WHEN r.classifier = '' THEN 0 ELSE r.id END, "            \
  "r.model, r.policy, r.policy_version, "                                                 \
  "coalesce(v.status IS NOT NULL AND v.content_hash <> c.content_hash, FALSE), "          \
  "coalesce(v.overridden, FALSE), c.sort_time, c.number, v.decide_time, "                 \
  "coalesce(o.actor, ''), o.create_time"

#define WINNOW_VERDICT_COLUMNS                                                    \
  "x.comment, x.status, x.resolved, x.failure, x.source, x.overridden, x.score, " \
  "x.content_hash, x.sort_time, x.reason, x.decide_time"
#define WINNOW_COMMENT_COLUMNS "y.number, y.id, y.content_hash, y.sort_time"
#define WINNOW_OVERRIDE                                                                   \
  "LEFT JOIN LATERAL (SELECT reason, actor, create_time FROM classification.overrides x " \
  "  WHERE x.comment = c.number AND v.overridden LIMIT 1) o ON TRUE "
#define WINNOW_VERDICT                                \
  "LEFT JOIN LATERAL (SELECT " WINNOW_VERDICT_COLUMNS \
  " FROM classification.verdicts x "                  \
  "  WHERE x.run = r.id AND x.comment = c.number LIMIT 1) v ON TRUE "
#define WINNOW_RUN(run)                                                                 \
  "(SELECT number, active_run FROM classification.videos "                              \
  "  WHERE namespace = $1 AND video_id = $2) w "                                        \
  "CROSS JOIN LATERAL (SELECT x.id, x.classifier, x.model, x.policy, x.policy_version " \
  "FROM classification.runs x "                                                         \
  "  WHERE x.id = " run " AND x.video = w.number LIMIT 1) r "

constexpr pg::Statement kGet{
    "classification.get_classifications",
    "SELECT u.place, coalesce(a.n, 0), " WINNOW_RESOLVED " FROM " WINNOW_RUN("w.active_run")
    "CROSS JOIN unnest($3::text[]) WITH ORDINALITY AS u(id, place) "
    "LEFT JOIN LATERAL (SELECT number FROM classification.comments "
    "  WHERE video = w.number AND id = u.id LIMIT 1) i ON TRUE "
    "LEFT JOIN LATERAL (SELECT min(x.number) AS number, count(*) AS n "
    "  FROM (SELECT number FROM classification.comments "
    "  WHERE video = w.number AND alias = u.id LIMIT 2) x) a ON i.number IS NULL "
    "CROSS JOIN LATERAL (SELECT " WINNOW_COMMENT_COLUMNS " FROM classification.comments y "
    "  WHERE y.number = coalesce(i.number, a.number) LIMIT 1) c "
    WINNOW_VERDICT WINNOW_OVERRIDE};

#define WINNOW_LIST(key, order) \
  "SELECT r.id, v.comment, " WINNOW_RESOLVED " FROM "                                      \
  WINNOW_RUN("CASE WHEN $3::bigint = 0 THEN w.active_run ELSE $3::bigint END")             \
  "LEFT JOIN LATERAL (SELECT " WINNOW_VERDICT_COLUMNS \
  " FROM classification.verdicts x WHERE x.run = r.id " \
  "  AND x.resolved = $4::smallint AND " key " < ($5, $6::bigint) "                        \
  "  ORDER BY " order " LIMIT $7) v ON TRUE "                                              \
  "LEFT JOIN LATERAL (SELECT " WINNOW_COMMENT_COLUMNS \
  " FROM classification.comments y " \
  "  WHERE y.number = v.comment LIMIT 1) c ON TRUE " WINNOW_OVERRIDE

constexpr pg::Statement kNewest{
    "classification.list_newest",
    WINNOW_LIST("(x.sort_time, x.comment)",
                "x.sort_time DESC, x.comment DESC") "ORDER BY v.sort_time DESC, v.comment DESC"};
constexpr pg::Statement kHighest{
    "classification.list_highest",
    WINNOW_LIST("(x.score, x.comment)",
                "x.score DESC, x.comment DESC") "ORDER BY v.score DESC, v.comment DESC"};

// Comments from newest to oldest, 10,000 at most: those without a resolved status come out, and the
// last one that was looked at.
#define WINNOW_SCANNED                                                                       \
  " FROM (SELECT number, active_run, comment_count FROM classification.videos "              \
  "  WHERE namespace = $1 AND video_id = $2) w "                                             \
  "CROSS JOIN LATERAL (SELECT x.id, x.classifier, x.model, x.policy, x.policy_version "      \
  "  FROM classification.runs x WHERE x.video = w.number "                                   \
  "  AND x.id = CASE WHEN $3::bigint = 0 THEN w.active_run ELSE $3::bigint END LIMIT 1) r "  \
  "CROSS JOIN LATERAL (SELECT " WINNOW_COMMENT_COLUMNS                                       \
  ", row_number() OVER (ORDER BY y.sort_time DESC, y.number DESC) AS place FROM "            \
  "  classification.comments y WHERE y.video = w.number AND (y.sort_time, y.number) < ($4, " \
  "$5::bigint) "                                                                             \
  "  ORDER BY y.sort_time DESC, y.number DESC LIMIT 10000) c "
constexpr pg::Statement kUnclassified{
    "classification.list_unclassified",
    "SELECT c.place = 10000, v.resolved IS NULL, " WINNOW_RESOLVED WINNOW_SCANNED WINNOW_VERDICT
        WINNOW_OVERRIDE
    "WHERE v.resolved IS NULL OR c.place = 10000 ORDER BY c.sort_time DESC, c.number DESC LIMIT "
    "$6"};
constexpr pg::Statement kCoverage{
    "classification.run_coverage",
    "SELECT r.id, w.comment_count - r.n_normal - r.n_filtered - r.n_suggestion "
    "FROM classification.videos w JOIN classification.runs r ON r.video = w.number "
    "AND r.id = CASE WHEN $3::bigint = 0 THEN w.active_run ELSE $3::bigint END "
    "WHERE w.namespace = $1 AND w.video_id = $2"};

constexpr pg::Statement kCount{
    "classification.count",
    "SELECT CASE WHEN r.classifier = '' THEN 0 ELSE r.id END, "
    "w.comment_count - r.n_normal - r.n_filtered - r.n_suggestion, "
    "r.n_normal, r.n_filtered, r.n_suggestion FROM classification.videos w "
    "JOIN classification.runs r ON r.id = w.active_run "
    "WHERE w.namespace = $1 AND w.video_id = $2"};

constexpr pg::Statement kExport{"classification.export",
                                "SELECT r.id, c.number, " WINNOW_RESOLVED " FROM " WINNOW_RUN(
                                    "CASE WHEN $3::bigint = 0 THEN w.active_run ELSE $3::bigint "
                                    "END") "LEFT JOIN LATERAL (SELECT " WINNOW_COMMENT_COLUMNS
                                           " FROM classification.comments y WHERE y.video = "
                                           "w.number "
                                           "  AND y.id > $4 ORDER BY y.id LIMIT $5) c ON "
                                           "TRUE " WINNOW_VERDICT WINNOW_OVERRIDE "ORDER BY c.id"};

constexpr pg::Statement kConflicts{
    "classification.conflicts",
    "SELECT r.id, c.number, " WINNOW_RESOLVED " FROM " WINNOW_RUN("w.active_run")
    "JOIN classification.overrides k ON k.video = w.number "
    "CROSS JOIN LATERAL (SELECT " WINNOW_COMMENT_COLUMNS " FROM classification.comments y "
    "  WHERE y.number = k.comment AND y.id > $3 LIMIT 1) c "
    WINNOW_VERDICT WINNOW_OVERRIDE
    "WHERE v.status IS NOT NULL AND v.status <> v.resolved ORDER BY c.id LIMIT $4"};

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
    const pqxx::result rows = session.Execute(kGet, key.ns, key.video_id, array);
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
    const pqxx::result rows = newest ? session.Execute(kNewest, ns, video, query.run, status, time,
                                                       number, query.page_size + 1)
                                     : session.Execute(kHighest, ns, video, query.run, status,
                                                       score, number, query.page_size + 1);
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
    const pqxx::result coverage = session.Execute(kCoverage, ns, video, query.run);
    if (coverage.empty()) return NoRows(session, query.video);
    Page page{coverage[0][0].as<int64_t>(), {}};
    if (coverage[0][1].as<int64_t>() == 0) return page;
    for (const pqxx::row& row :
         session.Execute(kUnclassified, ns, video, page.run, time, number, query.page_size + 1)) {
      if (row[0].as<bool>()) page.stopped = ToResolved(row, 2);
      if (row[1].as<bool>()) page.items.push_back(ToResolved(row, 2));
    }
    return page;
  });
}

StatusOr<VerdictStore::Counted> VerdictStore::Count(Deadline deadline, const VideoKey& key) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Counted> {
    const pqxx::result rows = session.Execute(kCount, key.ns, key.video_id);
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
    const pqxx::result rows = session.Execute(kExport, key.ns, key.video_id, run, after, count);
    if (rows.empty()) return NoRows(session, key);
    return ToPage(rows);
  });
}

StatusOr<std::vector<Resolved>> VerdictStore::ListConflicts(Deadline deadline, const VideoKey& key,
                                                            const std::string& after, int count) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::vector<Resolved>> {
    WINNOW_RETURN_IF_ERROR(FindVideo(session, key).status());
    std::vector<Resolved> conflicts;
    for (const pqxx::row& row : session.Execute(kConflicts, key.ns, key.video_id, after, count)) {
      conflicts.push_back(ToResolved(row, 2));
    }
    return conflicts;
  });
}

}  // namespace winnow::classification
