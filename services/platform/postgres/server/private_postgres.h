#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"

// A PostgreSQL of Winnow's own, for a first run that sets up nothing (`postgres-private:`): made,
// started, watched and ended by this process, in its data directory, reachable by a Unix socket
// only. The rules are in ARCHITECTURE.md, "The private PostgreSQL"; each has a test.
namespace winnow::pg {

class LogKeeper;
class Supervisor;
struct DataDirLocks;

struct PrivatePostgresOptions {
  std::string data_dir;  // empty: /var/lib/winnow for root, else in the user's data home
  // Where the server programs are looked for: <versions_dir>/*/bin, then `path` (empty: PATH).
  std::string versions_dir = "/usr/lib/postgresql";
  std::optional<std::string> path;
  // How long the PostgreSQL of a killed Winnow may take to end.
  std::chrono::milliseconds old_server_limit = std::chrono::seconds(60);
  // What all pools of the process may hold, and some for others.
  int max_connections = 100;
  // The server's log, pg.log, begins anew beyond; what it held before is pg.log.1.
  uintmax_t log_bytes = 10 << 20;
  // False for tests: nothing is synced, a crash of the machine may lose everything.
  bool durable = true;
  // Calls a start off, whatever it waits for: it ends with an error and leaves nothing running.
  std::stop_token stop{};
};

class PrivatePostgres {
 public:
  // Returns when connections are accepted and the database exists. Any thread may call it.
  static StatusOr<std::unique_ptr<PrivatePostgres>> Start(const PrivatePostgresOptions& options);

  ~PrivatePostgres();  // Stop()

  // libpq URL of the database.
  const std::string& connection_url() const { return url_; }
  // libpq URL of another database of the server.
  std::string UrlOf(const std::string& database) const;

  // OK while the server runs. A server that died is started again with backoff; meanwhile
  // UNAVAILABLE with what happened.
  Status Check() const;
  int restarts() const;
  pid_t postmaster_pid() const;  // 0: not running
  const std::string& data_dir() const { return data_dir_; }

  // Ends the server and waits for it; close the pools before. `immediate` skips the clean
  // shutdown, which has ended by `deadline`, or is cut short.
  Status Stop(bool immediate = false, Deadline deadline = Deadline::max());

 private:
  PrivatePostgres();
  std::string data_dir_;
  std::string socket_dir_;
  std::string url_;
  std::unique_ptr<DataDirLocks> locks_;  // outlives the supervisor
  std::unique_ptr<LogKeeper> log_keeper_;
  std::unique_ptr<Supervisor> supervisor_;
};

}  // namespace winnow::pg
