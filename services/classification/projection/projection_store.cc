#include "services/classification/projection/projection_store.h"

namespace winnow::classification {
namespace {

constexpr pg::Statement kUnprojected{
    "classification.unprojected_videos",
    "SELECT namespace, video_id, number, revision, expire_time FROM classification.videos "
    "WHERE revision <> projected ORDER BY number LIMIT $1"};
constexpr pg::Statement kProjectedVideos{
    "classification.projected_videos",
    "SELECT namespace, video_id, number, revision, expire_time FROM classification.videos "
    "WHERE number > $1 AND revision > 0 AND ($3 OR revision = projected) ORDER BY number "
    "LIMIT $2"};
constexpr pg::Statement kSetProjected{
    "classification.set_projected",
    "UPDATE classification.videos SET projected = $2 WHERE number = $1"};
constexpr pg::Statement kForgetProjections{
    "classification.forget_projections",
    "UPDATE classification.videos SET projected = -1 WHERE revision > 0"};

std::vector<ProjectionStore::Unprojected> ToUnprojected(const pqxx::result& rows) {
  std::vector<ProjectionStore::Unprojected> videos;
  for (const pqxx::row& row : rows) {
    videos.push_back({{row[0].as<std::string>(), row[1].as<std::string>()},
                      row[2].as<int64_t>(),
                      row[3].as<int64_t>(),
                      pg::ToTime(row[4])});
  }
  return videos;
}

}  // namespace

StatusOr<std::vector<ProjectionStore::Unprojected>> ProjectionStore::UnprojectedVideos(
    Deadline deadline, int limit) {
  return reads_.Statements(deadline,
                           [&](pg::Session& session) -> StatusOr<std::vector<Unprojected>> {
                             return ToUnprojected(session.Execute(kUnprojected, limit));
                           });
}

StatusOr<std::vector<ProjectionStore::Unprojected>> ProjectionStore::ProjectedVideos(
    Deadline deadline, int64_t after, int limit, bool with_behind) {
  return reads_.Statements(
      deadline, [&](pg::Session& session) -> StatusOr<std::vector<Unprojected>> {
        return ToUnprojected(session.Execute(kProjectedVideos, after, limit, with_behind));
      });
}

Status ProjectionStore::SetProjected(Deadline deadline, const Unprojected& video) {
  return writes_.Statements(deadline, [&](pg::Session& session) {
    session.Execute(kSetProjected, video.number, video.revision);
    return OkStatus();
  });
}

Status ProjectionStore::ForgetProjections(Deadline deadline) {
  return writes_.Statements(deadline, [&](pg::Session& session) {
    session.Execute(kForgetProjections);
    return OkStatus();
  });
}

}  // namespace winnow::classification
