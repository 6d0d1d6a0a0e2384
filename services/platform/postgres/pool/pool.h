#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/session/session.h"
#include "services/platform/process/metrics.h"

namespace winnow::pg {

class PrimaryWatch;

struct PoolOptions {
  std::string name;  // label of its metrics: "read", "write", "log"
  std::string url;   // libpq URL or keyword string; `pooling=transaction` is ours
  std::string password{};
  int connections = 4;
  // Chooses the host of the URL, and closes connections to one that is the primary no longer. Null:
  // libpq's choice, as for a server that has no standby.
  std::shared_ptr<PrimaryWatch> primary{};
};

class PoolState;

// A bounded pool of connections, made as they are needed. Waits at most until the deadline; a lost
// connection is replaced, with backoff while PostgreSQL is away. Errors: UNAVAILABLE
// (STORE_UNAVAILABLE) when PostgreSQL is away, OVERLOADED when no connection came free in time,
// DEADLINE_EXCEEDED for a statement timeout, ABORTED (WRITE_CONFLICT) after three serialization
// failures or deadlocks, INTERNAL for the rest. Driver text goes to the log only. A server that
// does not answer at all is cut off 2.5 s after the deadline.
class Pool {
 public:
  Pool(PoolOptions options, Metrics& metrics);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Runs `body(Session&)` with each statement in a transaction of its own. `body` returns Status or
  // StatusOr<T>, which is what Statements returns; pqxx exceptions become Status. One statement
  // this way costs half of one in a transaction, writing ones included.
  template <class Body>
  auto Statements(Deadline deadline, Body&& body) -> std::invoke_result_t<Body, Session&> {
    return Collect<std::invoke_result_t<Body, Session&>>(
        body, [&](const SessionBody& run) { return RunStatements(deadline, run); });
  }

  // Runs `body(Session&)` in one READ COMMITTED transaction, committed when it returns OK and
  // rolled back otherwise. Serialization failures and deadlocks run it again, three times in all.
  // An unknown commit is UNAVAILABLE: writes are idempotent, so callers retry.
  template <class Body>
  auto Transaction(Deadline deadline, Body&& body) -> std::invoke_result_t<Body, Session&> {
    return Collect<std::invoke_result_t<Body, Session&>>(
        body, [&](const SessionBody& run) { return RunTransaction(deadline, run); });
  }

  // OK when a connection answers SELECT 1 within a second, or a statement did so just now: a health
  // probe, which a busy pool does not fail.
  Status Check();

  // For a process that ends: at `deadline` (the earliest that was said) statements that run are
  // cut, and calls that wait for a connection fail; from then on everything is UNAVAILABLE
  // (SHUTTING_DOWN). Any thread.
  void EndBy(Deadline deadline);

  // For the other parts of platform/postgres.
  PoolState& state() { return *state_; }

 private:
  using SessionBody = std::function<Status(Session&)>;

  static Status StatusOf(const Status& status) { return status; }
  template <class T>
  static Status StatusOf(const StatusOr<T>& value) {
    return value.status();
  }

  // Hands `body` to `run` as a SessionBody, and gives back what body returned the last time it ran;
  // the status of `run` where that is an error of its own.
  template <class Result, class Body, class Run>
  static Result Collect(Body& body, Run&& run) {
    std::optional<Result> result;
    auto keep = [&](Session& session) {
      result.emplace(body(session));
      return StatusOf(*result);
    };
    Status status = run(SessionBody(std::ref(keep)));
    if (!status.ok() || !result) return status;
    return *std::move(result);
  }

  Status RunStatements(Deadline deadline, const SessionBody& body);
  Status RunTransaction(Deadline deadline, const SessionBody& body);

  std::shared_ptr<PoolState> state_;
};

}  // namespace winnow::pg
