#include "services/classification/runs/run_store.h"

// How two runs of a video differ.
namespace winnow::classification {
namespace {

constexpr pg::Statement kMatrix{
    "classification.compare_runs",
    "SELECT coalesce(b.status, 0), coalesce(a.status, 0), count(*) "
    "FROM (SELECT comment, status FROM classification.verdicts WHERE run = $1) a "
    "FULL JOIN (SELECT comment, status FROM classification.verdicts WHERE run = $2) b "
    "ON b.comment = a.comment GROUP BY 1, 2 ORDER BY 1, 2"};
constexpr pg::Statement kChanges{
    "classification.compare_changes",
    "SELECT c.id, coalesce(b.status, 0), coalesce(a.status, 0) FROM classification.comments c "
    "LEFT JOIN LATERAL (SELECT status FROM classification.verdicts "
    "  WHERE run = $2 AND comment = c.number LIMIT 1) a ON TRUE "
    "LEFT JOIN LATERAL (SELECT status FROM classification.verdicts "
    "  WHERE run = $3 AND comment = c.number LIMIT 1) b ON TRUE "
    "WHERE c.video = $1 AND c.id > $4 AND coalesce(a.status, 0) <> coalesce(b.status, 0) "
    "ORDER BY c.id LIMIT $5"};

constexpr pg::Statement kAgreement{
    "classification.compare_active",
    "SELECT count(*) FILTER (WHERE a.status = b.status), "
    "count(*) FILTER (WHERE a.status <> b.status) FROM classification.videos w "
    "JOIN classification.verdicts a ON a.run = w.active_run "
    "JOIN classification.verdicts b ON b.run = w.previous_run AND b.comment = a.comment "
    "WHERE w.number = (SELECT video FROM classification.runs WHERE id = $1) "
    "AND w.active_run = $1"};

}  // namespace

StatusOr<RunStore::Agreement> RunStore::CompareActive(Deadline deadline, int64_t run) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Agreement> {
    const pqxx::row row = session.Execute(kAgreement, run)[0];
    return Agreement{row[0].as<int64_t>(), row[1].as<int64_t>()};
  });
}

StatusOr<Comparison> RunStore::CompareRuns(Deadline deadline, const NumberKey& key, int64_t base,
                                           const std::string& after, int count, bool with_matrix) {
  const int64_t run = key.id;
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Comparison> {
    static constexpr pg::Statement kVideo{
        "classification.videos_of_runs",
        "SELECT r.id, r.video FROM classification.runs r "
        "JOIN classification.videos w ON w.number = r.video "
        "WHERE r.id IN ($1, $2) AND w.namespace = $3 AND r.classifier <> ''"};
    const pqxx::result videos = session.Execute(kVideo, run, base, key.ns);
    for (const int64_t id : {run, base}) {
      bool found = false;
      for (const pqxx::row& row : videos) found = found || row[0].as<int64_t>() == id;
      if (!found) return NotFound("run", std::to_string(id));
    }
    const auto video = videos[0][1].as<int64_t>();
    if (videos[videos.size() - 1][1].as<int64_t>() != video) {
      return InvalidField("base_run_id", "is of another video");
    }
    Comparison comparison;
    const auto status = [](const pqxx::field& field) {
      return static_cast<CommentStatus>(field.as<int>());
    };
    if (with_matrix) {
      for (const pqxx::row& row : session.Execute(kMatrix, run, base)) {
        comparison.matrix.push_back({status(row[0]), status(row[1]), row[2].as<int64_t>()});
      }
    }
    for (const pqxx::row& row : session.Execute(kChanges, video, run, base, after, count)) {
      comparison.changes.push_back({row[0].as<std::string>(), status(row[1]), status(row[2])});
    }
    return comparison;
  });
}

}  // namespace winnow::classification
