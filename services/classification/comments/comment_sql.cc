#include "services/classification/comments/comment_sql.h"

namespace winnow::classification {
namespace {

#define WINNOW_VIDEO                                                                  \
  "SELECT number, coalesce(active_run, 0), coalesce(previous_run, 0), comment_count " \
  "FROM classification.videos WHERE namespace = $1 AND video_id = $2"
constexpr pg::Statement kFindVideo{"classification.find_video", WINNOW_VIDEO};
constexpr pg::Statement kShareVideo{"classification.share_video", WINNOW_VIDEO " FOR SHARE"};
constexpr pg::Statement kLockVideo{"classification.lock_video", WINNOW_VIDEO " FOR NO KEY UPDATE"};

constexpr pg::Statement kFindById{
    "classification.find_comments",
    "SELECT u.place, c.number, c.content_hash "
    "FROM unnest($1::text[]) WITH ORDINALITY AS u(id, place) CROSS JOIN LATERAL "
    "(SELECT number, content_hash FROM classification.comments "
    "  WHERE video = $2 AND id = u.id LIMIT 1) c"};
constexpr pg::Statement kFindByAlias{
    "classification.find_comments_by_alias",
    "SELECT u.place, a.number, a.content_hash, a.id, a.n > 1 "
    "FROM unnest($1::text[]) WITH ORDINALITY AS u(id, place) CROSS JOIN LATERAL "
    "(SELECT min(x.number) AS number, min(x.content_hash) AS content_hash, min(x.id) AS id, "
    "  count(*) AS n FROM (SELECT number, id, content_hash FROM classification.comments "
    "  WHERE video = $2 AND alias = u.id LIMIT 2) x) a WHERE a.n > 0"};

StatusOr<VideoRow> ReadVideo(pg::Session& session, const VideoKey& key,
                             const pg::Statement& statement) {
  const pqxx::result rows = session.Execute(statement, key.ns, key.video_id);
  if (rows.empty()) return NotFound("video", key.video_id);
  return VideoRow{rows[0][0].as<int64_t>(), rows[0][1].as<int64_t>(), rows[0][2].as<int64_t>(),
                  rows[0][3].as<int64_t>()};
}

}  // namespace

StatusOr<VideoRow> LockVideo(pg::Session& session, const VideoKey& key, Lock lock) {
  return ReadVideo(session, key, lock == Lock::kShare ? kShareVideo : kLockVideo);
}

StatusOr<VideoRow> FindVideo(pg::Session& session, const VideoKey& key) {
  return ReadVideo(session, key, kFindVideo);
}

std::vector<FoundComment> FindComments(pg::Session& session, int64_t video,
                                       std::span<const std::string> ids) {
  std::vector<FoundComment> found(ids.size());
  pg::BinaryArray all(pg::BinaryArray::kText);
  for (const std::string& id : ids) all.AddText(id);
  for (const pqxx::row& row : session.Execute(kFindById, all, video)) {
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
  for (const pqxx::row& row : session.Execute(kFindByAlias, others, video)) {
    found[places[row[0].as<size_t>() - 1]] = {row[1].as<int64_t>(), row[4].as<bool>(),
                                              static_cast<uint64_t>(row[2].as<int64_t>()),
                                              row[3].as<std::string>()};
  }
  return found;
}

}  // namespace winnow::classification
