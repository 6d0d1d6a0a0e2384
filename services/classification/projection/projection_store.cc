#include "services/classification/projection/projection_store.h"

#include "services/classification/projection/projection_store.sql.h"

namespace winnow::classification {
namespace {

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
                             return ToUnprojected(session.Execute(sql::kUnprojectedVideos, limit));
                           });
}

StatusOr<std::vector<ProjectionStore::Unprojected>> ProjectionStore::ProjectedVideos(
    Deadline deadline, int64_t after, int limit, bool with_behind) {
  return reads_.Statements(
      deadline, [&](pg::Session& session) -> StatusOr<std::vector<Unprojected>> {
        return ToUnprojected(session.Execute(sql::kProjectedVideos, after, limit, with_behind));
      });
}

Status ProjectionStore::SetProjected(Deadline deadline, const Unprojected& video) {
  return writes_.Statements(deadline, [&](pg::Session& session) {
    session.Execute(sql::kSetProjected, video.number, video.revision);
    return OkStatus();
  });
}

Status ProjectionStore::ForgetProjections(Deadline deadline) {
  return writes_.Statements(deadline, [&](pg::Session& session) {
    session.Execute(sql::kForgetProjections);
    return OkStatus();
  });
}

}  // namespace winnow::classification
