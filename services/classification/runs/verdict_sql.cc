#include "services/classification/runs/verdict_sql.h"

#include <map>

namespace winnow::classification {
namespace {

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

}  // namespace

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

}  // namespace winnow::classification
