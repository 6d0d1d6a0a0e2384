#include "services/classification/comments/comment_sql.h"

#include "services/classification/comments/comment.sql.h"

namespace winnow::classification {
namespace {

StatusOr<VideoRow> ReadVideo(pg::Session& session, const VideoKey& key,
                             const pg::Statement& statement) {
  const pqxx::result rows = session.Execute(statement, key.ns, key.video_id);
  if (rows.empty()) return NotFound("video", key.video_id);
  return VideoRow{rows[0][0].as<int64_t>(), rows[0][1].as<int64_t>(), rows[0][2].as<int64_t>(),
                  rows[0][3].as<int64_t>()};
}

}  // namespace

StatusOr<VideoRow> LockVideo(pg::Session& session, const VideoKey& key, Lock lock) {
  return ReadVideo(session, key, lock == Lock::kShare ? sql::kShareVideo : sql::kLockVideo);
}

StatusOr<VideoRow> FindVideo(pg::Session& session, const VideoKey& key) {
  return ReadVideo(session, key, sql::kFindVideo);
}

std::vector<FoundComment> FindComments(pg::Session& session, int64_t video,
                                       std::span<const std::string> ids) {
  std::vector<FoundComment> found(ids.size());
  pg::BinaryArray all(pg::BinaryArray::kText);
  for (const std::string& id : ids) all.AddText(id);
  for (const pqxx::row& row : session.Execute(sql::kFindComments, all, video)) {
    const size_t place = row[0].as<size_t>() - 1;
    found[place] = {row[1].as<int64_t>(), false, static_cast<uint64_t>(row[2].as<int64_t>()),
                    ids[place]};
  }
  std::vector<size_t> places;
  pg::BinaryArray others(pg::BinaryArray::kText);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (found[i].number != 0) continue;
    others.AddText(ids[i]);
    places.push_back(i);
  }
  if (places.empty()) return found;
  for (const pqxx::row& row : session.Execute(sql::kFindCommentsByAlias, others, video)) {
    found[places[row[0].as<size_t>() - 1]] = {row[1].as<int64_t>(), row[4].as<bool>(),
                                              static_cast<uint64_t>(row[2].as<int64_t>()),
                                              row[3].as<std::string>()};
  }
  return found;
}

}  // namespace winnow::classification
