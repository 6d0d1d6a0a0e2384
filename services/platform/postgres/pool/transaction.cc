#include "services/platform/postgres/pool/transaction.h"

#include "services/platform/process/log.h"

namespace winnow::pg {

Failure Classify(Lease& lease, const std::string& statement) {
  Failure failure = ClassifyCurrentException(statement);
  if (!lease.connection().is_open()) failure.connection_lost = true;
  if (const Status cut = lease.cut(); !cut.ok()) failure = {cut, /*connection_lost=*/true};
  if (failure.connection_lost) lease.MarkLost();
  return failure;
}

Transaction::Transaction(PoolState& pool, Lease& lease, Deadline deadline)
    : pool_(pool),
      lease_(lease),
      deadline_(deadline),
      plain_(lease.connection().driver()),
      session_(lease.connection(), plain_) {}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    plain_.exec("ROLLBACK");
  } catch (...) {
    Classify(lease_, "rollback");
    lease_.MarkLost();
  }
}

Status Transaction::Begin(const std::string& settings) {
  try {
    lease_.connection().RequireCurrent();
    lease_.connection().LimitStatements(plain_, deadline_);
    open_ = true;
    plain_.exec(lease_.connection().BeginSql(deadline_, settings));
    return OkStatus();
  } catch (...) {
    Status status = Fail();
    may_retry_ = !open_;  // a connection lost while it was idle: nothing was done on it
    return status;
  }
}

Status Transaction::Run(const std::function<Status(Session&)>& body) {
  try {
    return body(session_);
  } catch (...) {
    return Fail();
  }
}

Status Transaction::Commit() {
  // PostgreSQL answers the COMMIT of a failed transaction by a ROLLBACK, without an error.
  if (session_.failed()) {
    return Internal(std::string(session_.last_statement()) + " failed, and its error was ignored");
  }
  try {
    lease_.connection().RequireCurrent();
    plain_.exec("COMMIT");
    open_ = false;
    pool_.NoteAnswer();
    const Status confirmed = pool_.Confirm(lease_, began_, plain_);
    unknown_ = !confirmed.ok();
    return confirmed;
  } catch (...) {
    Failure failure = Classify(lease_, "commit");
    unknown_ = failure.connection_lost;
    may_retry_ = failure.may_retry;
    open_ = false;
    return failure.status;
  }
}

Status Transaction::Fail() {
  Failure failure = Classify(lease_, session_.last_statement());
  may_retry_ = failure.may_retry;
  if (failure.connection_lost) open_ = false;  // nothing to roll back by us
  return failure.status;
}

}  // namespace winnow::pg
