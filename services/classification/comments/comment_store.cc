#include "services/classification/comments/comment_store.h"

#include "services/classification/audit/audit_store.h"
#include "services/classification/comments/comment_sql.h"

namespace winnow::classification {
namespace {

// A new video has a run that holds overrides until a real one is there.
constexpr pg::Statement kTouch{
    "classification.touch_video",
    "INSERT INTO classification.videos AS w (namespace, video_id, create_time, expire_time) "
    "VALUES ($1, $2, $3::timestamptz, $4::timestamptz) ON CONFLICT (namespace, video_id) "
    "DO UPDATE SET expire_time = greatest(w.expire_time, excluded.expire_time), "
    "revision = w.revision + (w.revision > 0 "
    "  AND excluded.expire_time > w.expire_time + interval '1 hour')::integer "
    "RETURNING number, active_run IS NULL"};
constexpr pg::Statement kFirstRun{
    "classification.first_run",
    "WITH made AS (INSERT INTO classification.runs (video, classifier, model, policy, "
    "  policy_version, state, input_high, input_count, create_time, end_time) "
    "  VALUES ($1, '', '', '', 0, 4, 0, 0, $2::timestamptz, $2::timestamptz) RETURNING id) "
    "UPDATE classification.videos SET active_run = made.id FROM made WHERE number = $1"};

constexpr pg::Statement kPutPart{
    "classification.put_raw_part",
    "INSERT INTO classification.raw_parts (video, upload_id, part, bytes) "
    "SELECT number, $3, $4, $5::bytea FROM classification.videos "
    "WHERE namespace = $1 AND video_id = $2 ON CONFLICT DO NOTHING"};
constexpr pg::Statement kOtherPart{
    "classification.other_raw_part",
    "SELECT 1 FROM classification.raw_parts p JOIN classification.videos w ON w.number = p.video "
    "WHERE w.namespace = $1 AND w.video_id = $2 AND p.upload_id = $3 AND p.part = $4 "
    "AND p.bytes <> $5::bytea"};
constexpr pg::Statement kPartSizes{
    "classification.raw_sizes",
    "SELECT count(*), coalesce(sum(length(bytes)), 0) FROM classification.raw_parts "
    "WHERE video = $1 AND upload_id = $2 AND part <= $3"};
constexpr pg::Statement kPart{
    "classification.raw_part",
    "SELECT bytes FROM classification.raw_parts WHERE video = $1 AND upload_id = $2 AND part = $3"};

constexpr pg::Statement kPutComments{
    "classification.put_comments",
    "WITH sent AS (SELECT u.id, u.alias, u.parent, u.body, u.hash, u.published, u.updated "
    "FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], "
    "  $6::bigint[], $7::timestamptz[], $8::timestamptz[]) "
    "  AS u(id, alias, parent, body, hash, published, updated)), "
    "old AS (SELECT s.id, c.content_hash FROM sent s CROSS JOIN LATERAL "
    "  (SELECT content_hash FROM classification.comments x "
    "   WHERE x.video = $1 AND x.id = s.id LIMIT 1) c), "
    "put AS (INSERT INTO classification.comments AS c (video, id, alias, parent_id, body, "
    "  content_hash, sort_time, update_time) "
    "  SELECT $1, s.id, nullif(s.alias, ''), nullif(s.parent, ''), s.body, s.hash, "
    "  coalesce(s.published, $9::timestamptz), s.updated "
    "  FROM sent s LEFT JOIN old o ON o.id = s.id "
    "  WHERE o.id IS NULL OR o.content_hash <> s.hash "
    "  ON CONFLICT (video, id) DO UPDATE SET body = excluded.body, "
    "  content_hash = excluded.content_hash, update_time = excluded.update_time "
    "  WHERE c.update_time IS NULL OR excluded.update_time IS NULL "
    "  OR excluded.update_time >= c.update_time "
    "  RETURNING (xmax = 0) AS created) "
    "SELECT count(*) FILTER (WHERE created), count(*) FILTER (WHERE NOT created) FROM put"};
constexpr pg::Statement kAddComments{
    "classification.add_comment_count",
    "UPDATE classification.videos SET comment_count = comment_count + $2 WHERE number = $1"};
constexpr pg::Statement kNewest{
    "classification.newest_comments",
    "SELECT number, id, body, content_hash FROM classification.comments "
    "WHERE video = $1 ORDER BY sort_time DESC, number DESC LIMIT $2"};

constexpr pg::Statement kRaise{"classification.raise_revision",
                               "UPDATE classification.videos SET revision = revision + 1 "
                               "WHERE namespace = $1 AND video_id = $2"};
constexpr pg::Statement kExpired{
    "classification.expired_videos",
    "SELECT namespace, video_id FROM classification.videos "
    "WHERE expire_time <= $1::timestamptz ORDER BY expire_time LIMIT $2"};
constexpr pg::Statement kDropAudit{
    "classification.drop_audit",
    "DELETE FROM classification.audit_entries WHERE namespace = $1 AND video_id = $2"};
constexpr pg::Statement kDropVerdicts{"classification.drop_video",
                                      "DELETE FROM classification.videos WHERE number = $1"};

}  // namespace

Status CommentStore::TouchVideo(Deadline deadline, const VideoKey& key) {
  const Time now = clock_.Now();
  return writes_.Transaction(deadline, [&](pg::Session& session) {
    const pqxx::row row =
        session.Execute(kTouch, key.ns, key.video_id, now, Time(now + retention_))[0];
    if (row[1].as<bool>()) session.Execute(kFirstRun, row[0].as<int64_t>(), now);
    return OkStatus();
  });
}

StatusOr<bool> CommentStore::PutRawPart(Deadline deadline, const VideoKey& key,
                                        const std::string& upload, int part,
                                        std::string_view bytes) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<bool> {
    const auto raw = pg::ToParameterBytes(bytes);
    const auto put = session.Execute(kPutPart, key.ns, key.video_id, upload, part, raw);
    if (put.affected_rows() != 0) return true;
    return session.Execute(kOtherPart, key.ns, key.video_id, upload, part, raw).empty();
  });
}

StatusOr<std::string> CommentStore::ReadRaw(Deadline deadline, const VideoKey& key,
                                            const std::string& upload, int last_part,
                                            size_t max_bytes) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::string> {
    WINNOW_ASSIGN_OR_RETURN(const VideoRow video, FindVideo(session, key));
    const pqxx::row sizes = session.Execute(kPartSizes, video.number, upload, last_part)[0];
    if (sizes[0].as<int64_t>() != last_part + 1) {
      return FailedPrecondition("upload " + upload + " has " + sizes[0].as<std::string>() +
                                " parts of " + std::to_string(last_part + 1) +
                                ": send the missing ones, numbered from 0");
    }
    if (sizes[1].as<size_t>() > max_bytes) {
      return FailedPrecondition("upload " + upload + " is larger than " +
                                std::to_string(max_bytes) + " bytes: send smaller files");
    }
    std::string raw;
    raw.reserve(sizes[1].as<size_t>());
    for (int part = 0; part <= last_part; ++part) {
      raw += pg::ToBytes(session.Execute(kPart, video.number, upload, part)[0][0]);
    }
    return raw;
  });
}

StatusOr<Imported> CommentStore::PutComments(Deadline deadline, const VideoKey& key,
                                             std::span<const Comment> comments) {
  pg::Array ids, aliases, parents, bodies, hashes, published, updated;
  for (const Comment& comment : comments) {
    ids.Add(comment.id);
    aliases.Add(comment.alias);
    parents.Add(comment.parent_id);
    bodies.Add(comment.text);
    hashes.Add(static_cast<int64_t>(comment.content_hash));
    published.Add(comment.publish_time);
    updated.Add(comment.update_time);
  }
  const Time now = clock_.Now();
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Imported> {
    // Numbers are given under the lock: those of a run's input are below those that come later.
    WINNOW_ASSIGN_OR_RETURN(const VideoRow video, LockVideo(session, key, Lock::kUpdate));
    const pqxx::row row = session.Execute(kPutComments, video.number, ids, aliases, parents, bodies,
                                          hashes, published, updated, now)[0];
    Imported imported{row[0].as<int64_t>(), row[1].as<int64_t>()};
    imported.unchanged =
        static_cast<int64_t>(comments.size()) - imported.created - imported.updated;
    if (imported.created > 0) session.Execute(kAddComments, video.number, imported.created);
    return imported;
  });
}

StatusOr<std::vector<Comment>> CommentStore::NewestComments(Deadline deadline, const VideoKey& key,
                                                            int count) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::vector<Comment>> {
    WINNOW_ASSIGN_OR_RETURN(const VideoRow video, FindVideo(session, key));
    std::vector<Comment> comments;
    for (const pqxx::row& row : session.Execute(kNewest, video.number, count)) {
      Comment comment;
      comment.number = row[0].as<int64_t>();
      comment.id = row[1].as<std::string>();
      comment.text = row[2].as<std::string>();
      comment.content_hash = static_cast<uint64_t>(row[3].as<int64_t>());
      comments.push_back(std::move(comment));
    }
    return comments;
  });
}

StatusOr<int64_t> CommentStore::DeleteVideo(Deadline deadline, const VideoKey& key,
                                            const Actor& actor) {
  const Time now = clock_.Now();
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    WINNOW_ASSIGN_OR_RETURN(const VideoRow video, LockVideo(session, key, Lock::kUpdate));
    session.Execute(kDropVerdicts, video.number);
    session.Execute(kDropAudit, key.ns, key.video_id);
    AddAudit(session, key.ns,
             {.video_id = key.video_id,
              .actor = actor.actor,
              .action = "delete_video",
              .note = actor.note},
             now);
    return video.comment_count;
  });
}

Status CommentStore::RaiseRevision(Deadline deadline, const VideoKey& key) {
  return writes_.Statements(deadline, [&](pg::Session& session) {
    session.Execute(kRaise, key.ns, key.video_id);
    return OkStatus();
  });
}

StatusOr<std::vector<VideoKey>> CommentStore::ExpiredVideos(Deadline deadline, int limit) {
  const Time now = clock_.Now();
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::vector<VideoKey>> {
    std::vector<VideoKey> videos;
    for (const pqxx::row& row : session.Execute(kExpired, now, limit)) {
      videos.push_back({row[0].as<std::string>(), row[1].as<std::string>()});
    }
    return videos;
  });
}

}  // namespace winnow::classification
