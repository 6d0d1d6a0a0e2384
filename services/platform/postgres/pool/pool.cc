#include "services/platform/postgres/pool/pool.h"

#include <pqxx/nontransaction>

#include "services/platform/postgres/pool/pool_state.h"
#include "services/platform/postgres/pool/transaction.h"
#include "services/platform/postgres/session/errors.h"

namespace winnow::pg {
namespace {

constexpr int kTries = 3;
constexpr std::chrono::seconds kCheckLimit(1);

}  // namespace

Pool::Pool(PoolOptions options, Metrics& metrics)
    : state_(std::make_shared<PoolState>(std::move(options), metrics)) {}

Pool::~Pool() = default;

Status Pool::RunStatements(Deadline deadline, const SessionBody& body) {
  WINNOW_ASSIGN_OR_RETURN(Lease lease, state_->Acquire(deadline));
  // A pooler gives every transaction its limits: only in one are there any.
  if (lease.connection().transaction_pooling()) {
    pg::Transaction transaction(*state_, lease, deadline);
    WINNOW_RETURN_IF_ERROR(transaction.Begin());
    WINNOW_RETURN_IF_ERROR(transaction.Run(body));
    return transaction.Commit();
  }
  Connection& connection = lease.connection();
  const Deadline began = std::chrono::steady_clock::now();
  pqxx::nontransaction plain(connection.driver());
  Session session(connection, plain);
  try {
    connection.RequireCurrent();
    connection.LimitStatements(plain, deadline);
    Status status = body(session);
    state_->NoteAnswer();
    const Status confirmed = state_->Confirm(lease, began, plain);
    return confirmed.ok() ? status : confirmed;
  } catch (...) {
    return Classify(lease, session.last_statement()).status;
  }
}

Status Pool::RunTransaction(Deadline deadline, const SessionBody& body) {
  for (int tries = 1;; ++tries) {
    WINNOW_ASSIGN_OR_RETURN(Lease lease, state_->Acquire(deadline));
    pg::Transaction transaction(*state_, lease, deadline);
    Status status = transaction.Begin();
    if (status.ok()) status = transaction.Run(body);
    if (status.ok()) status = transaction.Commit();
    if (status.ok() || !transaction.may_retry() || tries == kTries) return status;
  }
}

Status Pool::Check() {
  if (state_->AnsweredJustNow()) return OkStatus();
  static constexpr Statement kCheck = {"platform.check", "SELECT 1"};
  Status status = Statements(std::chrono::steady_clock::now() + kCheckLimit, [](Session& session) {
    session.Execute(kCheck);
    return OkStatus();
  });
  // All connections at work is load, which admission deals with, and no reason to be routed around.
  return status.code() == StatusCode::kResourceExhausted ? OkStatus() : status;
}

void Pool::EndBy(Deadline deadline) { state_->EndBy(deadline); }

}  // namespace winnow::pg
