#include "services/collector/sources/source_sql.h"
#include "services/collector/sources/source_store.h"
#include "services/platform/postgres/log/log_transaction.h"

namespace winnow::collector {
namespace {

constexpr pg::Statement kTakeLease{
    "collector.take_lease",
    "INSERT INTO collector.scheduler_lease AS l (holder, expire_time)"
    " VALUES ($1::uuid, clock_timestamp() + $2::bigint * interval '1 ms')"
    " ON CONFLICT (only_row) DO UPDATE SET holder = excluded.holder,"
    "   expire_time = excluded.expire_time"
    " WHERE l.holder = excluded.holder OR l.expire_time < clock_timestamp()"
    "   OR l.expire_time > clock_timestamp() + 2 * $2::bigint * interval '1 ms'"
    " RETURNING clock_timestamp()"};

constexpr pg::Statement kReleaseLease{
    "collector.release_lease",
    "UPDATE collector.scheduler_lease SET expire_time = '-infinity' WHERE holder = $1::uuid"};

// Two statements of one transaction; the second sees what the first left.
constexpr pg::Statement kRecordLost{
    "collector.record_lost_runs",
    "INSERT INTO collector.runs (" WINNOW_COLLECTOR_RUN_COLUMNS
    ")"
    " SELECT run_id, id, namespace, kind, run_requested, 2, 'its process died', run_begin_time, "
    "now(),"
    "   0, 0, 0, 0, 0, 0"
    " FROM collector.sources WHERE run_id IS NOT NULL AND run_holder <> $1::uuid"
    " FOR UPDATE ON CONFLICT (id) DO NOTHING"};
constexpr pg::Statement kFreeLost{
    "collector.free_lost_sources",
    "UPDATE collector.sources SET run_id = NULL, run_holder = NULL, run_begin_time = NULL,"
    "   next_run_time = now(), unread_pages = true"
    " WHERE run_id IS NOT NULL AND run_holder <> $1::uuid"};

constexpr pg::Statement kClaim{
    "collector.claim_sources",
    "WITH due(source_id, n) AS ("
    "   SELECT d.id, row_number() OVER (ORDER BY d.next_run_time, d.id)"
    "   FROM (SELECT id, next_run_time FROM collector.sources"
    "         WHERE state = 1 AND run_id IS NULL AND next_run_time <= clock_timestamp()"
    "         ORDER BY next_run_time LIMIT $2::integer FOR UPDATE SKIP LOCKED) AS d)"
    " UPDATE collector.sources SET run_id = coalesce(requested_run_id, "
    "($3::uuid[])[due.n::integer]),"
    "   run_requested = requested_run_id IS NOT NULL, requested_run_id = NULL, run_holder = "
    "$1::uuid, run_begin_time = clock_timestamp()"
    " FROM due WHERE id = due.source_id AND EXISTS ("
    "   SELECT 1 FROM collector.scheduler_lease"
    "   WHERE holder = $1::uuid AND expire_time > clock_timestamp())"
    " RETURNING " WINNOW_COLLECTOR_SOURCE_COLUMNS ", run_begin_time, run_requested"};

constexpr pg::Statement kEnd{
    "collector.end_run",
    "UPDATE collector.sources SET run_id = NULL, run_holder = NULL, run_begin_time = NULL,"
    "   failures = $3::integer, current_interval_seconds = $4::bigint,"
    "   state = CASE WHEN $5::boolean AND state = 1 THEN 3 ELSE state END,"
    "   feed_etag = CASE WHEN revision = $9::bigint THEN $6 ELSE feed_etag END,"
    "   feed_modified = CASE WHEN revision = $9::bigint THEN $7 ELSE feed_modified END,"
    "   unread_pages = $11::boolean OR (revision <> $9::bigint AND unread_pages),"
    "   success_time = CASE WHEN $8::boolean THEN now() ELSE success_time END,"
    "   next_run_time = CASE WHEN requested_run_id IS NOT NULL OR revision <> $9::bigint THEN now()"
    "     ELSE now() + $10::bigint * interval '1 second' END"
    " WHERE id = $1 AND run_id = $2::uuid RETURNING now()"};

constexpr pg::Statement kDoubt{"collector.doubt_pages",
                               "UPDATE collector.sources SET unread_pages = true WHERE id = $1"};

// A source that was deleted meanwhile has no row; its run is recorded all the same.
constexpr pg::Statement kInsertRun{
    "collector.insert_run",
    "INSERT INTO collector.runs (" WINNOW_COLLECTOR_RUN_COLUMNS
    ")"
    " VALUES ($1::uuid, $2, $3, $4::smallint, $5::boolean, $6::smallint, $7, $8::timestamptz,"
    "   $9::timestamptz, $10::bigint, $11::bigint,"
    "   $12::bigint, $13::bigint, $14::bigint, $15::bigint)"
    " ON CONFLICT (id) DO NOTHING RETURNING 1"};

constexpr pg::Statement kIsThere{"collector.has_source",
                                 "SELECT 1 FROM collector.sources WHERE id = $1"};

constexpr pg::Statement kDeleteOld{
    "collector.delete_old_runs",
    "DELETE FROM collector.runs WHERE id IN (SELECT id FROM collector.runs"
    "   WHERE end_time < now() - $1::bigint * interval '1 second' AND position IS NOT NULL"
    "   ORDER BY end_time LIMIT 1000)"};

constexpr pg::Statement kForgetRequests{
    "collector.delete_old_run_requests",
    "DELETE FROM collector.run_requests WHERE (source_id, request_id) IN ("
    "   SELECT source_id, request_id FROM collector.run_requests"
    "   WHERE create_time < now() - $1::bigint * interval '1 second'"
    "   ORDER BY create_time LIMIT 1000)"};

constexpr pg::Statement kAfter{"collector.runs_after",
                               "SELECT " WINNOW_COLLECTOR_RUN_COLUMNS
                               ", position FROM collector.runs WHERE position > $1::bigint"
                               " ORDER BY position LIMIT $2::integer"};

constexpr pg::Statement kKinds{
    "collector.read_kinds",
    "SELECT kind, count(*) FILTER (WHERE state = 1), count(*) FILTER (WHERE state = 3),"
    " coalesce(max(extract(epoch FROM now() - coalesce(success_time, create_time)))"
    "   FILTER (WHERE state = 1), 0)::float8,"
    " coalesce(max(extract(epoch FROM now() - next_run_time))"
    "   FILTER (WHERE state = 1 AND run_id IS NULL), 0)::float8"
    " FROM collector.sources GROUP BY kind"};

bool IsSuccess(Outcome outcome) { return outcome == Outcome::kOk || outcome == Outcome::kPartial; }

}  // namespace

StatusOr<std::optional<Time>> SourceStore::TakeLease(Deadline deadline, const std::string& holder,
                                                     std::chrono::milliseconds lease) {
  using Answer = StatusOr<std::optional<Time>>;
  return writes_.Statements(deadline, [&](pg::Session& session) -> Answer {
    const pqxx::result rows = session.Execute(kTakeLease, holder, int64_t{lease.count()});
    if (rows.empty()) return std::optional<Time>();
    return std::optional<Time>(pg::ToTime(rows[0][0]));
  });
}

Status SourceStore::ReleaseLease(Deadline deadline, const std::string& holder) {
  return writes_.Transaction(deadline, [&](pg::Session& session) {
    session.Execute(kReleaseLease, holder);
    return OkStatus();
  });
}

StatusOr<int64_t> SourceStore::EndLostRuns(Deadline deadline, const std::string& holder) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    session.Execute(kRecordLost, holder);
    return static_cast<int64_t>(session.Execute(kFreeLost, holder).affected_rows());
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
    for (const auto& row : session.Execute(kClaim, holder, limit, ids)) {
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
        kEnd, source.id, run.id, next.failures, int64_t{next.interval.count()}, next.blocked,
        source.feed_etag, source.feed_modified, IsSuccess(run.outcome), source.revision,
        int64_t{next.wait.count()}, source.unread_pages);
    // A process taken for dead may have stored a page meanwhile.
    if (freed.empty()) session.Execute(kDoubt, source.id);
    if (freed.empty() && !session.Execute(kIsThere, source.id).empty()) return false;
    return !session.Run(kInsertRun, RunParameters(run)).empty();
  });
}

StatusOr<int64_t> SourceStore::DeleteOldRuns(Deadline deadline, std::chrono::seconds retention) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    const int64_t age = retention.count();
    const auto runs = session.Execute(kDeleteOld, age).affected_rows();
    return static_cast<int64_t>(runs + session.Execute(kForgetRequests, age).affected_rows());
  });
}

StatusOr<std::vector<Run>> SourceStore::RunsAfter(Deadline deadline, int64_t position, int limit) {
  using Runs = StatusOr<std::vector<Run>>;
  return reads_.Statements(deadline, [&](pg::Session& session) -> Runs {
    std::vector<Run> runs;
    for (const auto& row : session.Execute(kAfter, position, limit)) {
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
    for (const auto& row : session.Execute(kKinds)) {
      kinds.push_back({static_cast<SourceKind>(row[0].as<int>()), row[1].as<int64_t>(),
                       row[2].as<int64_t>(), row[3].as<double>(), row[4].as<double>()});
    }
    return kinds;
  });
}

}  // namespace winnow::collector
