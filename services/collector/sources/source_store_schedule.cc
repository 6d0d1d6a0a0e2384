#include "services/collector/sources/source_sql.h"
#include "services/collector/sources/source_store.h"
#include "services/collector/sources/source_store_schedule.sql.h"
#include "services/platform/postgres/log/log_transaction.h"

namespace winnow::collector {
namespace {

bool IsSuccess(Outcome outcome) { return outcome == Outcome::kOk || outcome == Outcome::kPartial; }

}  // namespace

StatusOr<std::optional<Time>> SourceStore::TakeLease(Deadline deadline, const std::string& holder,
                                                     std::chrono::milliseconds lease) {
  using Answer = StatusOr<std::optional<Time>>;
  return writes_.Statements(deadline, [&](pg::Session& session) -> Answer {
    const pqxx::result rows = session.Execute(sql::kTakeLease, holder, int64_t{lease.count()});
    if (rows.empty()) return std::optional<Time>();
    return std::optional<Time>(pg::ToTime(rows[0][0]));
  });
}

Status SourceStore::ReleaseLease(Deadline deadline, const std::string& holder) {
  return writes_.Transaction(deadline, [&](pg::Session& session) {
    session.Execute(sql::kReleaseLease, holder);
    return OkStatus();
  });
}

StatusOr<int64_t> SourceStore::EndLostRuns(Deadline deadline, const std::string& holder) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    session.Execute(sql::kRecordLostRuns, holder);
    return static_cast<int64_t>(session.Execute(sql::kFreeLostSources, holder).affected_rows());
  });
}

StatusOr<std::vector<Claim>> SourceStore::ClaimDue(Deadline deadline, const std::string& holder,
                                                   const std::vector<std::string>& run_ids) {
  using Claims = StatusOr<std::vector<Claim>>;
  pg::Array ids;
  for (const std::string& id : run_ids) ids.Add(id);
  return writes_.Transaction(deadline, [&](pg::Session& session) -> Claims {
    std::vector<Claim> claims;
    const auto limit = static_cast<int>(run_ids.size());
    for (const auto& row : session.Execute(sql::kClaimSources, holder, limit, ids)) {
      Claim claim;
      claim.source = ToSource(row);
      claim.begin_time = pg::ToTime(row["run_begin_time"]);
      claim.requested = row["run_requested"].as<bool>();
      claims.push_back(std::move(claim));
    }
    return claims;
  });
}

StatusOr<bool> SourceStore::EndRun(Deadline deadline, const Source& source, const Run& run,
                                   const NextRun& next) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<bool> {
    const pqxx::result freed = session.Execute(
        sql::kEndRun, source.id, run.id, next.failures, int64_t{next.interval.count()},
        next.blocked, source.feed_etag, source.feed_modified, IsSuccess(run.outcome),
        source.revision, int64_t{next.wait.count()}, source.unread_pages);
    // A process taken for dead may have stored a page meanwhile.
    if (freed.empty()) session.Execute(sql::kDoubtPages, source.id);
    if (freed.empty() && !session.Execute(sql::kHasSource, source.id).empty()) return false;
    return !session.Run(sql::kInsertRun, RunParameters(run)).empty();
  });
}

StatusOr<int64_t> SourceStore::DeleteOldRuns(Deadline deadline, std::chrono::seconds retention) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    const int64_t age = retention.count();
    const auto runs = session.Execute(sql::kDeleteOldRuns, age).affected_rows();
    return static_cast<int64_t>(runs +
                                session.Execute(sql::kDeleteOldRunRequests, age).affected_rows());
  });
}

StatusOr<std::vector<Run>> SourceStore::RunsAfter(Deadline deadline, int64_t position, int limit) {
  using Runs = StatusOr<std::vector<Run>>;
  return reads_.Statements(deadline, [&](pg::Session& session) -> Runs {
    std::vector<Run> runs;
    for (const auto& row : session.Execute(sql::kRunsAfter, position, limit)) {
      runs.push_back(ToRun(row));
      runs.back().position = row["position"].as<int64_t>();
    }
    return runs;
  });
}

StatusOr<RunsHead> SourceStore::ReadHead(Deadline deadline) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<RunsHead> {
    WINNOW_ASSIGN_OR_RETURN(pg::Head head, pg::ReadHead(session, {"collector", "runs"}));
    return RunsHead{head.head, std::move(head.epoch)};
  });
}

StatusOr<std::vector<SourceStore::KindState>> SourceStore::ReadKinds(Deadline deadline) {
  using Kinds = StatusOr<std::vector<KindState>>;
  return reads_.Statements(deadline, [&](pg::Session& session) -> Kinds {
    std::vector<KindState> kinds;
    for (const auto& row : session.Execute(sql::kReadKinds)) {
      kinds.push_back({static_cast<SourceKind>(row[0].as<int>()), row[1].as<int64_t>(),
                       row[2].as<int64_t>(), row[3].as<double>(), row[4].as<double>()});
    }
    return kinds;
  });
}

}  // namespace winnow::collector
