#pragma once

#include <chrono>
#include <functional>
#include <mutex>

#include "services/platform/base/status.h"
#include "services/platform/grpc/port/acceptor.h"
#include "services/platform/grpc/port/socket_address.h"
#include "services/platform/process/metrics.h"
#include "services/platform/process/periodic_thread.h"

namespace winnow::rpc {

struct SelfCheckOptions {
  std::chrono::milliseconds interval{5'000};
  std::chrono::milliseconds timeout{5'000};
  // The port is dead when this many checks in a row have failed over this long. Both count, so that
  // a process that was stopped for a minute is not taken for one whose port is dead.
  int dead_after_failures = 10;
  std::chrono::milliseconds dead_after{60'000};
};

// Calls the process's own port every few seconds over a new connection, as a client does: through
// the kernel, the accept loop, gRPC's handshake and transport, to its health service. The accept
// loop knows the connection by its source, admits it beyond its limits and has it served in plain
// text, so that neither TLS, certificates nor limits matter.
class SelfCheck {
 public:
  // Nothing is checked before Start(). `acceptor` outlives this.
  SelfCheck(Acceptor& acceptor, SocketAddress address, SelfCheckOptions options, Metrics& metrics);
  ~SelfCheck() { Stop(); }

  // How the sockets are reached from this machine.
  static SocketAddress AddressOf(const ListenSockets& listening);

  // `on_dead` is called once, from the check's thread: the port is dead.
  void Start(std::function<void()> on_dead);
  void Stop() { thread_.Stop(); }

  // What the last check found; OK before the first.
  Status Last() const;

 private:
  enum class Outcome { kAnswered, kFailed, kUnknown };
  void Check();
  Outcome CheckOnce(Status& status);
  void CountFailure();

  Acceptor& acceptor_;
  const SocketAddress address_;
  const SelfCheckOptions options_;
  Gauge& up_;
  Counter& checks_;
  Counter& failed_;
  std::function<void()> on_dead_;
  int failures_ = 0;  // in a row
  std::chrono::steady_clock::time_point first_failure_;
  bool dead_ = false;
  mutable std::mutex mutex_;
  Status last_;  // guarded by mutex_
  PeriodicThread thread_;
};

}  // namespace winnow::rpc
