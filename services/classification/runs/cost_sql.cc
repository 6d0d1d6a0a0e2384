#include "services/classification/runs/cost_sql.h"

namespace winnow::classification {
namespace {

constexpr pg::Statement kSettle{
    "classification.settle_cost",
    "WITH settled AS (DELETE FROM classification.reservations WHERE id = $2 AND run = $1 "
    "RETURNING id) UPDATE classification.runs SET calls = calls + $3, "
    "cost_micros = cost_micros + $4 WHERE id = $1 AND EXISTS (SELECT id FROM settled)"};
constexpr pg::Statement kCharge{
    "classification.charge_reservations",
    "WITH gone AS (DELETE FROM classification.reservations WHERE run = $1 RETURNING micros) "
    "UPDATE classification.runs SET calls = calls + (SELECT count(*) FROM gone), "
    "cost_micros = cost_micros + (SELECT coalesce(sum(micros), 0) FROM gone) WHERE id = $1"};

#define WINNOW_CACHE_KEY "sha256(convert_to($1 || c.body, 'UTF8'))"
#define WINNOW_CACHED_COMMENT                                       \
  "CROSS JOIN LATERAL (SELECT body FROM classification.comments x " \
  "  WHERE x.number = u.comment AND x.content_hash = u.hash LIMIT 1) c "
constexpr pg::Statement kReadCache{
    "classification.read_cache",
    "SELECT u.comment, u.hash, v.status, v.source, v.score, v.reason "
    "FROM unnest($2::bigint[], $3::bigint[]) AS u(comment, hash) " WINNOW_CACHED_COMMENT
    "CROSS JOIN LATERAL (SELECT status, source, score, reason FROM classification.verdict_cache "
    "  WHERE key = " WINNOW_CACHE_KEY " LIMIT 1) v"};
// What a model said; rules cost nothing, and failures are asked again.
constexpr pg::Statement kPutCache{
    "classification.put_cache",
    "INSERT INTO classification.verdict_cache (key, status, source, score, reason, create_time) "
    "SELECT " WINNOW_CACHE_KEY
    ", u.status, u.source, u.score, u.reason, $8::timestamptz "
    "FROM unnest($2::bigint[], $3::bigint[], $4::smallint[], $5::smallint[], $6::real[], "
    "  $7::text[]) AS u(comment, hash, status, source, score, reason) " WINNOW_CACHED_COMMENT
    "WHERE u.status <> 0 AND u.source IN (2, 3) ON CONFLICT DO NOTHING"};

}  // namespace

void Settle(pg::Session& session, int64_t run, const Settlement& settlement) {
  if (settlement.reservation == 0) return;
  session.Execute(kSettle, run, settlement.reservation, settlement.calls, settlement.cost_micros);
}

void ChargeReservations(pg::Session& session, int64_t run) { session.Execute(kCharge, run); }

void PutCache(pg::Session& session, const std::string& cache_name,
              std::span<const CommentOutcome> outcomes, Time now) {
  pg::Array comments, hashes, statuses, sources, scores, reasons;
  for (const CommentOutcome& one : outcomes) {
    comments.Add(one.comment);
    hashes.Add(static_cast<int64_t>(one.content_hash));
    statuses.Add(static_cast<int>(one.outcome.status));
    sources.Add(static_cast<int>(one.outcome.source));
    scores.Add(static_cast<double>(one.outcome.score));
    reasons.Add(one.outcome.reason);
  }
  session.Execute(kPutCache, cache_name, comments, hashes, statuses, sources, scores, reasons, now);
}

std::vector<CommentOutcome> ReadCache(pg::Session& session, const std::string& cache_name,
                                      std::span<const Comment> comments) {
  pg::Array numbers, hashes;
  for (const Comment& comment : comments) {
    numbers.Add(comment.number);
    hashes.Add(static_cast<int64_t>(comment.content_hash));
  }
  std::vector<CommentOutcome> outcomes;
  for (const pqxx::row& row : session.Execute(kReadCache, cache_name, numbers, hashes)) {
    CommentOutcome one{row[0].as<int64_t>(), static_cast<uint64_t>(row[1].as<int64_t>()), {}};
    one.outcome.status = static_cast<CommentStatus>(row[2].as<int>());
    one.outcome.source = static_cast<Source>(row[3].as<int>());
    one.outcome.score = row[4].as<float>();
    one.outcome.reason = row[5].as<std::string>();
    outcomes.push_back(std::move(one));
  }
  return outcomes;
}

}  // namespace winnow::classification
