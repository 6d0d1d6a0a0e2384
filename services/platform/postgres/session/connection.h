#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <pqxx/connection>
#include <pqxx/errorhandler>
#include <string>
#include <unordered_set>

#include "services/platform/base/clock.h"
#include "services/platform/postgres/session/connection_settings.h"
#include "services/platform/postgres/session/session.h"

namespace winnow::pg {

// What a new connection's first statements may take, after a login of at most connect_timeout.
inline constexpr std::chrono::seconds kSetupLimit{3};

// What a connection to a primary was made for (primary_watch.h).
struct ConnectionGuard {
  std::shared_ptr<const std::atomic<uint64_t>> current;  // number of the primary in use
  uint64_t generation = 0;                               // of the connection
  std::string system;
  int64_t timeline = 0;
};

// One connection, with what Winnow relies on set up: READ COMMITTED whatever the role's default,
// ISO dates in UTC, UTF-8. Constructor and methods throw pqxx exceptions. One thread at a time.
class Connection {
 public:
  // With a guard: throws unless the server is the primary that it names.
  explicit Connection(const ConnectionSettings& settings,
                      std::optional<ConnectionGuard> guard = std::nullopt);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  pqxx::connection& driver() { return driver_; }
  // Behind a pooler that hands out the server per transaction nothing may outlive one: no prepared
  // statement, no SET.
  bool transaction_pooling() const { return transaction_pooling_; }
  int socket() const { return driver_.sock(); }
  bool is_open() const { return driver_.is_open(); }

  // Another primary is in use by now. Any thread.
  bool outdated() const {
    return guard_ && guard_->current->load(std::memory_order_acquire) != guard_->generation;
  }
  // Before each statement: throws pqxx::broken_connection when outdated.
  void RequireCurrent() const;
  // With a guard: throws unless the server is still the primary that it names.
  void VerifyPrimary(pqxx::transaction_base& transaction) const;
  uint64_t generation() const { return guard_ ? guard_->generation : 0; }

  // System identifier and timeline of the server, as in a log's head (log_transaction.h). Asked
  // once, except where the connection may come to lead to another server or history.
  std::string Epoch(pqxx::transaction_base& transaction);

  // Registers the statement on its first use. False: statements cannot be prepared here.
  bool Prepare(const Statement& statement);

  // Makes the server end statements once `deadline` is over, at the next whole second, so that
  // callers with one deadline share a SET, which costs half a query. With transaction pooling the
  // SET has to be part of each transaction's beginning: BeginSql().
  void LimitStatements(pqxx::transaction_base& transaction, Deadline deadline);

  // Before each further statement: sets the limit again where the one before is a second old.
  void LimitNext(pqxx::transaction_base& transaction);

  // BEGIN of a READ COMMITTED transaction, one round trip. `settings`: further "SET LOCAL ...;".
  std::string BeginSql(Deadline deadline, const std::string& settings = "") const;

  // True when an idle connection has something to read: the server's goodbye.
  bool IsStale() const;

 private:
  bool transaction_pooling_;
  std::optional<ConnectionGuard> guard_;
  pqxx::connection driver_;
  pqxx::quiet_errorhandler quiet_;  // notices would go to stderr
  std::unordered_set<std::string> prepared_;
  std::string epoch_;  // empty: not known
  int64_t statement_timeout_ms_ = -1;
  Deadline deadline_ = Deadline::max();  // as given to LimitStatements
  std::chrono::steady_clock::time_point limited_at_ = std::chrono::steady_clock::time_point::max();
};

// The statement_timeout for what is left until `deadline`: the smallest step that is not shorter.
std::chrono::milliseconds StatementTimeout(std::chrono::steady_clock::duration left);

}  // namespace winnow::pg
