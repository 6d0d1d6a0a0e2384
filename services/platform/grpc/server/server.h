#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/server.h>

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "services/platform/grpc/peers/target.h"
#include "services/platform/grpc/port/acceptor.h"
#include "services/platform/grpc/port/self_check.h"
#include "services/platform/grpc/runtime/runtime.h"
#include "services/platform/grpc/server/health.h"
#include "services/platform/process/metrics.h"
#include "winnow/config/v1/config.pb.h"

namespace grpc::experimental {
class ExternalConnectionAcceptor;
}

namespace winnow::rpc {

struct ServerOptions {
  std::chrono::milliseconds probe_interval{2'000};
  // To cut what is left after the drain.
  std::chrono::milliseconds cut_after{250};
  ConnectionLimits connections;
  // To finish the handshakes of TLS and HTTP/2: a connection that does not is closed.
  std::chrono::milliseconds handshake_timeout{20'000};
  SelfCheckOptions self_check;
};

// The gRPC port of a process: its targets, health, reflection and channelz. Used by main, in this
// order: Start; each target's start; AwaitServing; ...; AnnounceEnd; Drain; flush the outbox; each
// target's stop; Shutdown.
class Server {
 public:
  // What Start and Peers::Make would say of addresses and certificates, before anything is begun.
  // A port that is free now may be taken by then.
  static Status Check(const config::v1::Config& config);
  // From a config whose defaults are filled in. Errors name the setting: an address that is taken
  // or not this machine's, one beyond loopback without TLS or `insecure`, a certificate that cannot
  // be read. `runtime`, `metrics` and what the targets hold outlive the server.
  static StatusOr<std::unique_ptr<Server>> Start(const config::v1::Config& config, Runtime& runtime,
                                                 Metrics& metrics, std::span<const Target> targets,
                                                 ServerOptions options = {});
  ~Server();

  // Where it listens, with the port that was chosen for port 0.
  const std::string& address() const { return address_; }
  int port() const { return port_; }
  // For peers of this process (Peers::Make).
  std::shared_ptr<grpc::Channel> InProcessChannel() const;

  // Until health says SERVING of every target, the deadline, or `stop`. Whether it does.
  bool AwaitServing(Deadline deadline, const std::stop_token& stop = {}) {
    return health_->AwaitServing(deadline, stop);
  }

  // Checks from now on, until AnnounceEnd, that the port answers (self_check.h).
  void StartSelfCheck(std::function<void()> on_dead) { self_check_->Start(std::move(on_dead)); }

  // What health knows, as JSON: for MetricsHttp.
  std::string HealthJson() const { return health_->ToJson(); }

  // Health says NOT_SERVING, and callers get drain_delay to notice, unless `hurry` comes first.
  void AnnounceEnd(const std::stop_token& hurry = {});
  // From now on calls from outside are refused with UNAVAILABLE, streams and long polls end with
  // it, and calls in flight may go on until `deadline`. In-process peers are served on. Whether all
  // ended in time.
  bool Drain(Deadline deadline);
  // Ends the server; what is in flight is cancelled after `cut_after`.
  void Shutdown();

 private:
  Server(Runtime& runtime, ServerOptions options) : runtime_(runtime), options_(options) {}
  Status Listen(const config::v1::Config& config, std::span<const Target> targets,
                Metrics& metrics);

  Runtime& runtime_;
  const ServerOptions options_;
  std::string address_;
  int port_ = 0;
  std::chrono::milliseconds drain_delay_{0};
  std::unique_ptr<grpc::Server> server_;
  // What takes connections over: those of callers, and the self-check's, which speaks plain text.
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> callers_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> own_;
  std::vector<std::shared_ptr<void>> cut_connections_;  // gauges
  std::unique_ptr<Acceptor> acceptor_;
  std::unique_ptr<SelfCheck> self_check_;
  std::unique_ptr<Health> health_;  // after the server, whose health service it uses
};

}  // namespace winnow::rpc
