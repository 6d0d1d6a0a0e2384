#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include "services/platform/clock.h"
#include "services/platform/metrics.h"
#include "services/platform/postgres/session.h"
#include "services/platform/status.h"

namespace winnow::pg {

struct PoolOptions {
  std::string name;  // label of its metrics: "read", "write", "log"
  std::string url;   // libpq URL or keyword string; `pooling=transaction` is ours
  std::string password;
  int connections = 4;
};

// A bounded pool of connections. Waits at most until the deadline; a lost connection is replaced
// with backoff. Errors: UNAVAILABLE (STORE_UNAVAILABLE) when PostgreSQL is away, OVERLOADED when no
// connection came free in time, DEADLINE_EXCEEDED for a statement timeout, ABORTED (WRITE_CONFLICT)
// after three serialization failures or deadlocks, INTERNAL for the rest. Driver text goes to the
// log only.
class Pool {
 public:
  explicit Pool(PoolOptions options, Metrics& metrics);
  ~Pool();

  // Runs `body(Session&)` with each statement in a transaction of its own. `body` returns Status or
  // StatusOr<T>, which is what Read returns; pqxx exceptions become Status.
  template <class Body>
  auto Read(Deadline deadline, Body&& body) -> std::invoke_result_t<Body, Session&>;

  // Runs `body(Session&)` in one READ COMMITTED transaction, committed when it returns OK and
  // rolled back otherwise. Serialization failures and deadlocks run it again, three times in all.
  // An unknown commit is UNAVAILABLE: writes are idempotent, so callers retry.
  template <class Body>
  auto Write(Deadline deadline, Body&& body) -> std::invoke_result_t<Body, Session&>;

  // OK when a connection answers SELECT 1 within a second: a health probe.
  Status Check();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace winnow::pg
