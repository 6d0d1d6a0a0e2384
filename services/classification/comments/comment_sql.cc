#include "services/classification/comments/comment_sql.h"

#include <algorithm>

namespace winnow::classification {
namespace {

#define WINNOW_VIDEO                                                                  \
  "SELECT number, coalesce(active_run, 0), coalesce(previous_run, 0), comment_count " \
  "FROM classification.videos WHERE namespace = $1 AND video_id = $2"
constexpr pg::Statement kFindVideo{"classification.find_video", WINNOW_VIDEO};
constexpr pg::Statement kShareVideo{"classification.share_video", WINNOW_VIDEO " FOR SHARE"};
constexpr pg::Statement kLockVideo{"classification.lock_video", WINNOW_VIDEO " FOR NO KEY UPDATE"};

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

// What stands in the run of these comments. Whoever holds the run's row is alone with its rows but
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

// Entries that differ in their comment alone and in what it was and is.
constexpr pg::Statement kAudit{
    "classification.audit",
    "INSERT INTO classification.audit_entries (comment_id, before, after, namespace, video_id, "
    "run, appeal, actor, action, note, create_time) SELECT u.comment_id, u.before, u.after, $4, "
    "$5, $6::bigint, $7::bigint, $8, $9, $10, $11::timestamptz "
    "FROM unnest($1::text[], $2::text[], $3::text[]) AS u(comment_id, before, after)"};
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

// The first verdict of a content stays; a failure may be mended.
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
  return ReadVideo(session, key, lock == Lock::kShare ? kShareVideo : kLockVideo);
}

StatusOr<VideoRow> FindVideo(pg::Session& session, const VideoKey& key) {
  return ReadVideo(session, key, kFindVideo);
}

namespace {

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

}  // namespace

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

StatusOr<LockedRun> ReadLease(pg::Session& session, int64_t run) {
  return ReadLocked(session, run, kReadRun);
}

Run ReadRun(pg::Session& session, int64_t run) { return ToRun(session.Execute(kReadRun, run)[0]); }

std::vector<FoundComment> Find(pg::Session& session, int64_t video,
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

Written WriteRows(pg::Session& session, const LockedRun& run,
                  std::span<const CommentOutcome> outcomes, Time now,
                  std::vector<StatusChange>* changes) {
  const std::map<int64_t, Known> known = ReadKnown(session, run.run.id, outcomes);
  Written written;
  Deltas deltas;
  Rows inserted;
  Rows changed;
  for (const CommentOutcome& one : outcomes) {
    if (one.comment > run.input_high) {
      written.fates.push_back(WriteResult::kIgnored);
      continue;
    }
    const auto found = known.find(one.comment);
    const Known* before = found == known.end() ? nullptr : &found->second;
    if (before != nullptr && Stays(*before, one)) {
      written.fates.push_back(WriteResult::kKnown);
      continue;
    }
    written.fates.push_back(WriteResult::kWritten);
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

void AddAudit(pg::Session& session, const std::string& ns, const AuditEntry& entry, Time now) {
  const AuditedComment one{entry.comment_id, entry.before, entry.after};
  AddAudits(session, ns, entry, {&one, 1}, now);
}

void AddAudits(pg::Session& session, const std::string& ns, const AuditEntry& common,
               std::span<const AuditedComment> comments, Time now) {
  if (comments.empty()) return;
  pg::BinaryArray ids(pg::BinaryArray::kText);
  pg::BinaryArray before(pg::BinaryArray::kText);
  pg::BinaryArray after(pg::BinaryArray::kText);
  for (const AuditedComment& one : comments) {
    ids.AddText(one.id);
    before.AddText(one.before);
    after.AddText(one.after);
  }
  session.Execute(kAudit, ids, before, after, ns, common.video_id, common.run, common.appeal,
                  common.actor, common.action, common.note, now);
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
