#include "services/classification/comments/comment_store.h"

#include "services/classification/audit/audit_store.h"
#include "services/classification/comments/comment_sql.h"
#include "services/classification/comments/comment_store.sql.h"

namespace winnow::classification {
Status CommentStore::TouchVideo(Deadline deadline, const VideoKey& key) {
  const Time now = clock_.Now();
  return writes_.Transaction(deadline, [&](pg::Session& session) {
    const pqxx::row row =
        session.Execute(sql::kTouchVideo, key.ns, key.video_id, now, Time(now + retention_))[0];
    if (row[1].as<bool>()) session.Execute(sql::kFirstRun, row[0].as<int64_t>(), now);
    return OkStatus();
  });
}

StatusOr<bool> CommentStore::PutRawPart(Deadline deadline, const VideoKey& key,
                                        const std::string& upload, int part,
                                        std::string_view bytes) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<bool> {
    const auto raw = pg::ToParameterBytes(bytes);
    const auto put = session.Execute(sql::kPutRawPart, key.ns, key.video_id, upload, part, raw);
    if (put.affected_rows() != 0) return true;
    return session.Execute(sql::kOtherRawPart, key.ns, key.video_id, upload, part, raw).empty();
  });
}

StatusOr<std::string> CommentStore::ReadRaw(Deadline deadline, const VideoKey& key,
                                            const std::string& upload, int last_part,
                                            size_t max_bytes) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::string> {
    WINNOW_ASSIGN_OR_RETURN(const VideoRow video, FindVideo(session, key));
    const pqxx::row sizes = session.Execute(sql::kRawSizes, video.number, upload, last_part)[0];
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
      raw += pg::ToBytes(session.Execute(sql::kRawPart, video.number, upload, part)[0][0]);
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
    const pqxx::row row = session.Execute(sql::kPutComments, video.number, ids, aliases, parents,
                                          bodies, hashes, published, updated, now)[0];
    Imported imported{row[0].as<int64_t>(), row[1].as<int64_t>()};
    imported.unchanged =
        static_cast<int64_t>(comments.size()) - imported.created - imported.updated;
    if (imported.created > 0)
      session.Execute(sql::kAddCommentCount, video.number, imported.created);
    return imported;
  });
}

StatusOr<std::vector<Comment>> CommentStore::NewestComments(Deadline deadline, const VideoKey& key,
                                                            int count) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::vector<Comment>> {
    WINNOW_ASSIGN_OR_RETURN(const VideoRow video, FindVideo(session, key));
    std::vector<Comment> comments;
    for (const pqxx::row& row : session.Execute(sql::kNewestComments, video.number, count)) {
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
    session.Execute(sql::kDropVideo, video.number);
    session.Execute(sql::kDropAudit, key.ns, key.video_id);
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
    session.Execute(sql::kRaiseRevision, key.ns, key.video_id);
    return OkStatus();
  });
}

StatusOr<std::vector<VideoKey>> CommentStore::ExpiredVideos(Deadline deadline, int limit) {
  const Time now = clock_.Now();
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::vector<VideoKey>> {
    std::vector<VideoKey> videos;
    for (const pqxx::row& row : session.Execute(sql::kExpiredVideos, now, limit)) {
      videos.push_back({row[0].as<std::string>(), row[1].as<std::string>()});
    }
    return videos;
  });
}

}  // namespace winnow::classification
