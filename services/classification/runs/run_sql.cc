#include "services/classification/runs/run_sql.h"

#include <map>

#include "services/classification/runs/run.sql.h"

namespace winnow::classification {
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
  for (const pqxx::row& row : session.Execute(sql::kStandingVerdicts, numbers, run)) {
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
  return ReadLocked(session, run, lock == Lock::kShare ? sql::kShareRun : sql::kLockRun);
}

StatusOr<LockedRun> LockRun(pg::Session& session, const NumberKey& key, Lock lock) {
  WINNOW_ASSIGN_OR_RETURN(LockedRun run, LockRun(session, key.id, lock));
  if (run.run.video.ns != key.ns || run.run.classifier.empty()) {
    return NotFound("run", std::to_string(key.id));
  }
  return run;
}

StatusOr<LockedRun> ReadLockedRun(pg::Session& session, int64_t run) {
  return ReadLocked(session, run, sql::kReadRun);
}

Run ReadRun(pg::Session& session, int64_t run) {
  return ToRun(session.Execute(sql::kReadRun, run)[0]);
}

void SetRunState(pg::Session& session, int64_t run, RunState state, Failure pause_reason,
                 Time now) {
  session.Execute(sql::kSetRunState, run, static_cast<int>(state), static_cast<int>(pause_reason),
                  now);
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
  inserted.Write(session, sql::kInsertVerdicts, run.run.id, now);
  changed.Write(session, sql::kChangeVerdicts, run.run.id, now);
  const pqxx::row row =
      session.Execute(sql::kCountRun, run.run.id, deltas.classified, deltas.failed,
                      deltas.statuses[1], deltas.statuses[2], deltas.statuses[3], now)[0];
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
  session.Execute(sql::kAuditChanges, run.video.ns, run.video.video_id, run.id, actor, comments,
                  before, after, now);
}

void Settle(pg::Session& session, int64_t run, const Settlement& settlement) {
  if (settlement.reservation == 0) return;
  session.Execute(sql::kSettleCost, run, settlement.reservation, settlement.calls,
                  settlement.cost_micros);
}

void ChargeReservations(pg::Session& session, int64_t run) {
  session.Execute(sql::kChargeReservations, run);
}

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
  session.Execute(sql::kPutCache, cache_name, comments, hashes, statuses, sources, scores, reasons,
                  now);
}

std::vector<CommentOutcome> ReadCache(pg::Session& session, const std::string& cache_name,
                                      std::span<const Comment> comments) {
  pg::Array numbers, hashes;
  for (const Comment& comment : comments) {
    numbers.Add(comment.number);
    hashes.Add(static_cast<int64_t>(comment.content_hash));
  }
  std::vector<CommentOutcome> outcomes;
  for (const pqxx::row& row : session.Execute(sql::kReadCache, cache_name, numbers, hashes)) {
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
