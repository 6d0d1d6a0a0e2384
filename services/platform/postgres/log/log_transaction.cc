#include "services/platform/postgres/log/log_transaction.h"

#include "services/platform/postgres/log/log_sql.h"
#include "services/platform/postgres/log/stream_turns.h"
#include "services/platform/postgres/pool/pool_state.h"
#include "services/platform/postgres/pool/transaction.h"
#include "services/platform/postgres/session/errors.h"
#include "services/platform/process/log.h"

namespace winnow::pg {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kTries = 3;
constexpr milliseconds kLongestLockWait(10'000);
// Settling an unknown commit is worth going past the caller's deadline.
constexpr milliseconds kMinTimeToSettle(2'000);

// The lock in a statement of its own: what shares its snapshot sees none of the holder's rows.
constexpr Statement kLock = {"platform.log_lock",
                             "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"};

// A stopped or vanished holder would keep everybody else waiting.
std::string LockSettings(Deadline deadline) {
  const auto left = duration_cast<milliseconds>(deadline - steady_clock::now());
  const milliseconds wait = std::clamp(left, milliseconds(1), kLongestLockWait);
  return "SET LOCAL lock_timeout = " + std::to_string(wait.count()) +
         ";SET LOCAL idle_in_transaction_session_timeout = 2000;"
         "SET LOCAL client_connection_check_interval = 500;";
}

Status SynchronousCommitIsOff() {
  return FailedPrecondition(
      "synchronous_commit is off for this role or database, so that a crash would take back "
      "numbers that readers have seen: set it to on (ALTER ROLE ... SET synchronous_commit = on)");
}

}  // namespace

struct LogTransaction::Work {
  Pool& pool;
  const Stream& stream;
  const LogSql& sql;
  const std::function<Status(LogSession&)>& body;
  const std::function<StatusOr<bool>(Session&)>& settled;
};

struct LogTransaction::Attempt {
  Status status;
  Committed committed;
  bool try_again = false;
  bool unknown = false;
};

Status LogTransaction::EnterStream(const Work& work, LogSession& log) {
  log.session_.Execute(kLock, "winnow.log." + WakePayload(work.stream));
  const pqxx::row row = log.session_.Execute(work.sql.enter, work.stream.name)[0];
  log.head_ = row[0].as<int64_t>();
  log.epoch_ = row[1].c_str();
  if (!row[2].is_null()) log.last_arrival_ = ToTime(row[2]);
  log.now_ = ToTime(row[3]);
  if (std::string_view(row[4].c_str()) == "off") return SynchronousCommitIsOff();
  return OkStatus();
}

Status LogTransaction::Advance(const Work& work, const LogSession& log, Committed& result) {
  result = {log.head_ + log.appended_, log.epoch_};
  if (log.appended_ == 0) return OkStatus();
  if (log.appended_ < 0 || log.appended_ > kMaxRowsAppended) {
    return Internal("a log transaction of " + WakePayload(work.stream) + " appends " +
                    std::to_string(log.appended_) + " rows; the limit is " +
                    std::to_string(kMaxRowsAppended));
  }
  const Time arrival = log.told_arrival_ ? log.last_arrival_ : log.arrival_time();
  log.session_.Execute(work.sql.advance, work.stream.name, result.head, log.epoch_, arrival,
                       WakePayload(work.stream));
  return OkStatus();
}

Status LogTransaction::RunLocked(const Work& work, Session& session, bool settle_first,
                                 Committed& result) {
  LogSession log(session);
  WINNOW_RETURN_IF_ERROR(EnterStream(work, log));
  if (settle_first) {
    WINNOW_ASSIGN_OR_RETURN(const bool committed, work.settled(session));
    if (committed) {
      result = {log.head_, log.epoch_, /*settled_later=*/true};
      return OkStatus();
    }
  }
  WINNOW_RETURN_IF_ERROR(work.body(log));
  return Advance(work, log, result);
}

LogTransaction::Attempt LogTransaction::RunOnce(const Work& work, Deadline deadline,
                                                bool settle_first) {
  Attempt attempt;
  PoolState& pool = work.pool.state();
  StatusOr<Lease> lease = pool.Acquire(deadline);
  if (!lease.ok()) {
    attempt.status = lease.status();
    return attempt;
  }
  Transaction transaction(pool, *lease, deadline);
  attempt.status = transaction.Begin(LockSettings(deadline));
  if (!attempt.status.ok()) {
    attempt.try_again = transaction.may_retry();
    return attempt;
  }
  attempt.status = transaction.Run(
      [&](Session& session) { return RunLocked(work, session, settle_first, attempt.committed); });
  if (attempt.status.ok()) attempt.status = transaction.Commit();
  attempt.unknown = transaction.unknown();
  // It changed nothing: how it ended is of no interest, unless its server may be an old primary.
  if (attempt.committed.settled_later && !attempt.unknown) attempt.status = OkStatus();
  attempt.try_again = transaction.may_retry() || transaction.unknown();
  return attempt;
}

StatusOr<LogTransaction::Committed> LogTransaction::Run(
    Pool& pool, const Stream& stream, Deadline deadline,
    const std::function<Status(LogSession&)>& body,
    const std::function<StatusOr<bool>(Session&)>& settled) {
  WINNOW_ASSIGN_OR_RETURN(const LogSql* sql, LogSqlOf(stream.schema));
  WINNOW_ASSIGN_OR_RETURN(const auto turn, TakeTurn(&pool, WakePayload(stream), deadline));
  const Work work = {pool, stream, *sql, body, settled};
  bool unknown = false;
  for (int tries = 1;; ++tries) {
    const Deadline until =
        unknown ? std::max(deadline, steady_clock::now() + kMinTimeToSettle) : deadline;
    Attempt attempt = RunOnce(work, until, unknown);
    if (attempt.status.ok()) return attempt.committed;
    if (attempt.unknown && !unknown) {
      log::Warn("the outcome of a commit is unknown: settling it", {{"stream", stream.name}});
    }
    unknown = unknown || attempt.unknown;
    if (!attempt.try_again || tries == kTries) return attempt.status;
  }
}

}  // namespace winnow::pg
