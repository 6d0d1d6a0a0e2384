#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/server.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "services/platform/grpc/health.h"
#include "services/platform/grpc/runtime.h"
#include "services/platform/grpc/target.h"
#include "services/platform/metrics.h"
#include "winnow/config/v1/config.pb.h"

namespace winnow::rpc {

struct ServerOptions {
  std::chrono::milliseconds probe_interval{2'000};
  // To cut what is left after the drain.
  std::chrono::milliseconds cut_after{1'000};
};

// The gRPC port of a process: its targets, health, reflection and channelz. Used by main, in this
// order: Start; each target's start; AwaitServing; ...; Drain; flush the outbox; each target's
// stop; Shutdown.
class Server {
 public:
  // From a config whose defaults are filled in. Errors name the setting: an address that is taken
  // or not this machine's, one beyond loopback without TLS or `insecure`, a certificate that cannot
  // be read. `runtime`, `metrics` and what the targets hold outlive the server.
  static StatusOr<std::unique_ptr<Server>> Start(const config::v1::Config& config, Runtime& runtime,
                                                 Metrics& metrics, std::span<const Target> targets,
                                                 ServerOptions options = {});
  ~Server() { Shutdown(); }

  // Where it listens, with the port that was chosen for port 0.
  const std::string& address() const { return address_; }
  int port() const { return port_; }
  // For peers of this process (Peers::Make).
  std::shared_ptr<grpc::Channel> InProcessChannel() const;

  // Until health says SERVING of every target, or the deadline. Whether it does.
  bool AwaitServing(Deadline deadline) { return health_->AwaitServing(deadline); }

  // Health says NOT_SERVING, callers get drain_delay to notice, then calls from outside are refused
  // with UNAVAILABLE, streams and long polls end with it, and calls in flight get drain_timeout to
  // end. In-process peers are served on. Whether all ended in time.
  bool Drain();
  // Cuts the drain's delay short: a second SIGTERM. Any thread.
  void HurryDrain();
  // Ends the server; what is in flight is cancelled after `cut_after`.
  void Shutdown();

 private:
  Server(Runtime& runtime, ServerOptions options) : runtime_(runtime), options_(options) {}
  Status Listen(const config::v1::Config& config, std::span<const Target> targets);

  Runtime& runtime_;
  const ServerOptions options_;
  std::string address_;
  int port_ = 0;
  std::chrono::milliseconds drain_delay_{0};
  std::chrono::milliseconds drain_timeout_{0};
  std::mutex mutex_;
  std::condition_variable hurry_wake_;
  bool hurry_ = false;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Health> health_;  // after the server, whose health service it uses
};

}  // namespace winnow::rpc
