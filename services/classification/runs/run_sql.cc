#include "services/classification/runs/run_sql.h"

#include <map>

namespace winnow::classification {
namespace {

// A run and its video, locked in this order, and read as they are once the locks are held. Writers
// of a run take turns: each counts from what the one before left.
#define WINNOW_LOCKED_RUN                                                                        \
  "SELECT " WINNOW_RUN_COLUMNS                                                                   \
  ", r.video, coalesce(w.active_run, 0), coalesce(w.previous_run, 0), r.input_high, "            \
  "r.lease_epoch FROM classification.videos w JOIN classification.runs r ON r.video = w.number " \
  "WHERE r.id = $1"
constexpr pg::Statement kReadRun{"classification.read_run", WINNOW_LOCKED_RUN};
constexpr pg::Statement kShareRun{"classification.share_run",
                                  WINNOW_LOCKED_RUN " FOR SHARE OF w FOR NO KEY UPDATE OF r"};
constexpr pg::Statement kLockRun{
    "classification.lock_run", WINNOW_LOCKED_RUN " FOR NO KEY UPDATE OF w FOR NO KEY UPDATE OF r"};
constexpr pg::Statement kSetState{
    "classification.set_run_state",
    "UPDATE classification.runs SET state = $2::smallint, pause_reason = $3, lease_until = NULL, "
    "end_time = CASE WHEN $2::smallint = 5 THEN $4::timestamptz ELSE end_time END WHERE id = $1"};

StatusOr<LockedRun> ReadLocked(pg::Session& session, int64_t run, const pg::Statement& statement) {
  const pqxx::result rows = session.Execute(statement, run);
  if (rows.empty()) return NotFound("run", std::to_string(run));
  const pqxx::row row = rows[0];
  return LockedRun{ToRun(row),
                   row[kRunColumns].as<int64_t>(),
                   row[kRunColumns + 1].as<int64_t>(),
                   row[kRunColumns + 2].as<int64_t>(),
                   row[kRunColumns + 3].as<int64_t>(),
                   row[kRunColumns + 4].as<int64_t>()};
}

// The run's verdicts of these comments. The holder of the run's row is their only writer, but
// for overrides, which hold the video alone.
constexpr pg::Statement kReadVerdicts{
    "classification.standing_verdicts",
    "SELECT v.comment, coalesce(v.status, 0), coalesce(v.resolved, 0), v.failure, v.overridden, "
    "v.content_hash FROM unnest($1::bigint[]) AS u(comment) CROSS JOIN LATERAL "
    "(SELECT x.comment, x.status, x.resolved, x.failure, x.overridden, x.content_hash "
    "FROM classification.verdicts x WHERE x.run = $2 AND x.comment = u.comment LIMIT 1) v"};

#define WINNOW_INSERT_VERDICTS                                                                  \
  "INSERT INTO classification.verdicts AS v (run, comment, status, resolved, failure, source, " \
  "score, content_hash, reason, sort_time, decide_time) "                                       \
  "SELECT $8, u.comment, nullif(u.status, 0), nullif(u.status, 0), u.failure, u.source, "       \
  "u.score, u.hash, u.reason, c.sort_time, $9::timestamptz "                                    \
  "FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::float8[], "          \
  "  $6::bigint[], $7::text[]) AS u(comment, status, failure, source, score, hash, reason) "    \
  "CROSS JOIN LATERAL (SELECT sort_time FROM classification.comments "                          \
  "  WHERE number = u.comment LIMIT 1) c"
constexpr pg::Statement kInsertVerdicts{"classification.insert_verdicts", WINNOW_INSERT_VERDICTS};
constexpr pg::Statement kChangeVerdicts{
    "classification.change_verdicts", WINNOW_INSERT_VERDICTS
    " ON CONFLICT (run, comment) DO UPDATE SET status = excluded.status, "
    "resolved = CASE WHEN v.overridden THEN v.resolved ELSE excluded.resolved END, "
    "failure = excluded.failure, source = excluded.source, score = excluded.score, "
    "content_hash = excluded.content_hash, reason = excluded.reason, "
    "decide_time = excluded.decide_time"};

// A run of which nothing is missing is complete, in the same statement.
constexpr pg::Statement kCount{
    "classification.count_run",
    "UPDATE classification.runs SET classified = classified + $2, failed = failed + $3, "
    "n_normal = n_normal + $4, n_filtered = n_filtered + $5, n_suggestion = n_suggestion + $6, "
    "state = CASE WHEN classified + $2 + failed + $3 >= input_count THEN 4 ELSE state END, "
    "end_time = CASE WHEN classified + $2 + failed + $3 >= input_count THEN $7::timestamptz "
    "  ELSE end_time END "
    "WHERE id = $1 RETURNING state, input_count - classified - failed"};
constexpr pg::Statement kAuditChanges{
    "classification.audit_changes",
    "INSERT INTO classification.audit_entries (namespace, video_id, comment_id, run, actor, "
    "action, before, after, create_time) SELECT $1, $2, c.id, $3, $4, 'ingest', u.before, u.after, "
    "$8::timestamptz FROM unnest($5::bigint[], $6::text[], $7::text[]) AS u(comment, before, "
    "after) "
    "CROSS JOIN LATERAL (SELECT id FROM classification.comments WHERE number = u.comment LIMIT 1) "
    "c"};

struct Known {
  CommentStatus status = CommentStatus::kNone;
  CommentStatus resolved = CommentStatus::kNone;
  bool failed = false;
  bool overridden = false;
  uint64_t content_hash = 0;
};

std::map<int64_t, Known> ReadKnown(pg::Session& session, int64_t run,
                                   std::span<const CommentOutcome> outcomes) {
  pg::BinaryArray numbers(pg::BinaryArray::kBigint);
  for (const CommentOutcome& one : outcomes) numbers.AddNumber(one.comment);
  std::map<int64_t, Known> known;
  for (const pqxx::row& row : session.Execute(kReadVerdicts, numbers, run)) {
    known[row[0].as<int64_t>()] = {
        static_cast<CommentStatus>(row[1].as<int>()), static_cast<CommentStatus>(row[2].as<int>()),
        row[3].as<int>() != 0, row[4].as<bool>(), static_cast<uint64_t>(row[5].as<int64_t>())};
  }
  return known;
}

// Rows that a statement writes.
struct Rows {
  pg::BinaryArray comments{pg::BinaryArray::kBigint};
  pg::BinaryArray statuses{pg::BinaryArray::kBigint};
  pg::BinaryArray failures{pg::BinaryArray::kBigint};
  pg::BinaryArray sources{pg::BinaryArray::kBigint};
  pg::BinaryArray scores{pg::BinaryArray::kDouble};
  pg::BinaryArray hashes{pg::BinaryArray::kBigint};
  pg::BinaryArray reasons{pg::BinaryArray::kText};
  size_t size = 0;

  void Add(const CommentOutcome& one) {
    comments.AddNumber(one.comment);
    statuses.AddNumber(static_cast<int64_t>(one.outcome.status));
    failures.AddNumber(static_cast<int64_t>(one.outcome.failure));
    sources.AddNumber(static_cast<int64_t>(one.outcome.source));
    scores.AddDouble(static_cast<double>(one.outcome.score));
    hashes.AddNumber(static_cast<int64_t>(one.content_hash));
    reasons.AddText(one.outcome.reason);
    ++size;
  }
  void Write(pg::Session& session, const pg::Statement& statement, int64_t run, Time now) const {
    if (size == 0) return;
    session.Execute(statement, comments, statuses, failures, sources, scores, hashes, reasons, run,
                    now);
  }
};

// What a batch of writes changes in its run's counts.
struct Deltas {
  int64_t classified = 0;
  int64_t failed = 0;
  StatusCounts statuses{};
};

// The first verdict of a content stays; a failure may be replaced.
bool Stays(const Known& before, const CommentOutcome& now) {
  if (before.status != CommentStatus::kNone) return before.content_hash == now.content_hash;
  return before.failed && now.outcome.status == CommentStatus::kNone;
}

void CountWrite(const Known* before, const Outcome& now, Deltas& deltas) {
  if (before != nullptr) {
    deltas.classified -= before->status != CommentStatus::kNone;
    deltas.failed -= before->failed;
  }
  deltas.classified += now.status != CommentStatus::kNone;
  deltas.failed += now.status == CommentStatus::kNone;
  if (before != nullptr && before->overridden) return;
  if (before != nullptr) --deltas.statuses[static_cast<size_t>(before->resolved)];
  ++deltas.statuses[static_cast<size_t>(now.status)];
}

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

Run ToRun(const pqxx::row& row) {
  Run run;
  run.id = row[0].as<int64_t>();
  run.video = {row[1].as<std::string>(), row[2].as<std::string>()};
  run.classifier = row[3].as<std::string>();
  run.model = row[4].as<std::string>();
  run.policy = row[5].as<std::string>();
  run.policy_version = row[6].as<int64_t>();
  run.state = static_cast<RunState>(row[7].as<int>());
  run.activate = row[8].as<bool>();
  run.input_count = row[9].as<int64_t>();
  run.classified = row[10].as<int64_t>();
  run.failed = row[11].as<int64_t>();
  for (int i = 0; i < static_cast<int>(kStatuses); ++i) {
    run.counts[static_cast<size_t>(i)] = row[12 + i].as<int64_t>();
  }
  run.active = row[16].as<bool>();
  run.calls = row[17].as<int64_t>();
  run.cost_micros = row[18].as<int64_t>();
  run.budget_micros = row[19].as<int64_t>();
  run.pause_reason = static_cast<Failure>(row[20].as<int>());
  run.create_time = pg::ToTime(row[21]);
  run.end_time = pg::ToOptionalTime(row[22]);
  return run;
}

StatusOr<LockedRun> LockRun(pg::Session& session, int64_t run, Lock lock) {
  return ReadLocked(session, run, lock == Lock::kShare ? kShareRun : kLockRun);
}

StatusOr<LockedRun> LockRun(pg::Session& session, const NumberKey& key, Lock lock) {
  WINNOW_ASSIGN_OR_RETURN(LockedRun run, LockRun(session, key.id, lock));
  if (run.run.video.ns != key.ns || run.run.classifier.empty()) {
    return NotFound("run", std::to_string(key.id));
  }
  return run;
}

StatusOr<LockedRun> ReadLockedRun(pg::Session& session, int64_t run) {
  return ReadLocked(session, run, kReadRun);
}

Run ReadRun(pg::Session& session, int64_t run) { return ToRun(session.Execute(kReadRun, run)[0]); }

void SetRunState(pg::Session& session, int64_t run, RunState state, Failure pause_reason,
                 Time now) {
  session.Execute(kSetState, run, static_cast<int>(state), static_cast<int>(pause_reason), now);
}

Written WriteVerdicts(pg::Session& session, const LockedRun& run,
                      std::span<const CommentOutcome> outcomes, Time now,
                      std::vector<StatusChange>* changes) {
  const std::map<int64_t, Known> known = ReadKnown(session, run.run.id, outcomes);
  Written written;
  Deltas deltas;
  Rows inserted;
  Rows changed;
  for (const CommentOutcome& one : outcomes) {
    if (one.comment > run.input_high) {
      written.results.push_back(WriteResult::kIgnored);
      continue;
    }
    const auto found = known.find(one.comment);
    const Known* before = found == known.end() ? nullptr : &found->second;
    if (before != nullptr && Stays(*before, one)) {
      written.results.push_back(WriteResult::kKnown);
      continue;
    }
    written.results.push_back(WriteResult::kWritten);
    CountWrite(before, one.outcome, deltas);
    const auto resolved = before == nullptr ? CommentStatus::kNone : before->resolved;
    const bool holds = before != nullptr && before->overridden;
    if (changes != nullptr && !holds && resolved != one.outcome.status) {
      changes->push_back({one.comment, resolved, one.outcome.status});
    }
    (before == nullptr ? inserted : changed).Add(one);
  }
  inserted.Write(session, kInsertVerdicts, run.run.id, now);
  changed.Write(session, kChangeVerdicts, run.run.id, now);
  const pqxx::row row =
      session.Execute(kCount, run.run.id, deltas.classified, deltas.failed, deltas.statuses[1],
                      deltas.statuses[2], deltas.statuses[3], now)[0];
  written.complete = row[0].as<int>() == static_cast<int>(RunState::kComplete);
  written.missing = row[1].as<int64_t>();
  return written;
}

void AddChanges(pg::Session& session, const Run& run, const std::string& actor,
                std::span<const StatusChange> changes, Time now) {
  if (changes.empty()) return;
  pg::Array comments, before, after;
  for (const StatusChange& change : changes) {
    comments.Add(change.comment);
    before.Add(NameOf(change.before));
    after.Add(NameOf(change.after));
  }
  session.Execute(kAuditChanges, run.video.ns, run.video.video_id, run.id, actor, comments, before,
                  after, now);
}

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
