#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "services/platform/grpc/peers/peers.h"
#include "services/platform/grpc/server/server.h"
#include "services/platform/process/metrics.h"
#include "tests/support/grpc/echo_service.h"

namespace winnow::test {

struct EchoOptions {
  EchoHandlers handlers = PlainEcho();
  rpc::RuntimeOptions runtime;
  rpc::ServerOptions server;
  config::v1::Config config;  // listens on a free port of 127.0.0.1 unless it says otherwise
  std::vector<rpc::Probe> probes;
};

// A server with the echo service, reached in process and by TCP.
class EchoServer {
 public:
  // Throws std::runtime_error when it does not start.
  explicit EchoServer(EchoOptions options = {});

  echo::EchoService::Stub& stub() { return *stub_; }
  std::shared_ptr<grpc::Channel> in_process() const { return in_process_; }
  // A plain-text channel with a connection of its own.
  std::shared_ptr<grpc::Channel> NewTcpChannel() const;
  rpc::Server& server() { return *server_; }
  rpc::Runtime& runtime() { return *runtime_; }
  Metrics& metrics() { return metrics_; }
  // The value of a sample as scraped, e.g. `winnow_rpc_in_flight{method="..."}`; -1 when absent.
  double Sample(const std::string& series) const;

 private:
  Metrics metrics_;
  EchoOptions options_;
  std::unique_ptr<rpc::Runtime> runtime_;
  rpc::Target target_;
  std::unique_ptr<rpc::Server> server_;
  std::shared_ptr<grpc::Channel> in_process_;
  std::unique_ptr<echo::EchoService::Stub> stub_;
};

// A client context that ends after `timeout`, or after two minutes: no test hangs.
std::unique_ptr<grpc::ClientContext> ContextOf(
    std::chrono::milliseconds timeout = std::chrono::minutes(2));

}  // namespace winnow::test
