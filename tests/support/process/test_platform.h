#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>
#include <vector>

#include "services/platform/events/core/in_process_transport.h"
#include "services/platform/grpc/peers/peers.h"
#include "services/platform/grpc/runtime/runtime.h"
#include "services/platform/grpc/server/server.h"
#include "services/platform/platform.h"

namespace winnow::test {

// The parts of main on a test's database: pools, call runtime, events in process, and the gRPC
// server on a free port. The time is the system's.
//
//   TestPlatform platform(url);
//   platform.Serve({collector::MakeCollectorTarget(platform.parts())});
//   auto stub = CollectorService::NewStub(platform.channel());
class TestPlatform {
 public:
  // `redis_url`: empty for none.
  explicit TestPlatform(const std::string& url, const std::string& redis_url = "");
  ~TestPlatform();  // stops

  Platform& parts() { return parts_; }
  // Before targets are made of it.
  config::v1::Config& config() { return config_; }
  Metrics& metrics() { return metrics_; }
  pg::Pool& pool() { return writes_; }
  events::InProcessTransport& transport() { return transport_; }
  redis::Client& redis() { return *redis_; }

  // Serves the targets, starts them and then the events, as main does. Once; fails the test when
  // something does not start. Without `with_events` they stay in their outboxes.
  void Serve(std::vector<rpc::Target> targets, bool with_events = true);
  // Ends as main does. Before it nothing may use the channel any more.
  void Stop();
  std::shared_ptr<grpc::Channel> channel() const { return channel_; }  // in process
  const std::string& address() const { return server_->address(); }

 private:
  config::v1::Config config_;
  SystemClock clock_;
  Metrics metrics_;
  rpc::Runtime runtime_;
  pg::Pool reads_;
  pg::Pool writes_;
  pg::Pool logs_;
  events::InProcessTransport transport_;
  std::unique_ptr<redis::Client> redis_;
  Platform parts_;

  std::vector<rpc::Target> targets_;
  std::unique_ptr<rpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<rpc::Peers> peers_;
};

}  // namespace winnow::test
