#pragma once

#include <functional>
#include <pqxx/nontransaction>
#include <string>

#include "services/platform/postgres/pool/pool_state.h"
#include "services/platform/postgres/session/errors.h"

namespace winnow::pg {

// In a catch block: what went wrong on the lease, which is marked as lost if it is.
Failure Classify(Lease& lease, const std::string& statement);

// One READ COMMITTED transaction on a lease, rolled back unless committed. pqxx's own would take
// the role's default isolation, and would not distinguish an unknown commit from a refused one.
class Transaction {
 public:
  Transaction(PoolState& pool, Lease& lease, Deadline deadline);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // `settings`: "SET LOCAL ...;" for this transaction.
  Status Begin(const std::string& settings = "");
  // Exceptions of the body become its status.
  Status Run(const std::function<Status(Session&)>& body);
  Status Commit();

  // After an error: the transaction was undone for reasons that another try may not meet.
  bool may_retry() const { return may_retry_; }
  // After Commit failed: whether it took effect is not known.
  bool unknown() const { return unknown_; }

 private:
  Status Fail();

  PoolState& pool_;
  Lease& lease_;
  Deadline deadline_;
  pqxx::nontransaction plain_;
  Session session_;
  const Deadline began_ = std::chrono::steady_clock::now();
  bool open_ = false;
  bool may_retry_ = false;
  bool unknown_ = false;
};

}  // namespace winnow::pg
