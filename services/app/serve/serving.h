#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "services/app/serve/database.h"
#include "services/app/serve/targets.h"
#include "services/platform/base/clock.h"
#include "services/platform/grpc/peers/peers.h"
#include "services/platform/grpc/runtime/runtime.h"
#include "services/platform/grpc/server/metrics_http.h"
#include "services/platform/grpc/server/server.h"
#include "services/platform/platform.h"
#include "services/platform/process/fd.h"
#include "services/platform/process/metrics.h"

namespace winnow::app {

// A running Winnow process: the platform's parts, the chosen targets, the server. Start() runs the
// phases in order and Stop() undoes them in the order that loses nothing (ARCHITECTURE.md).
class Serving {
 public:
  Serving(config::v1::Config config, std::string postgres_versions_dir,
          bool adopt_redis_keys = false);
  ~Serving();

  // The error says which setting or dependency it is. Stop() is to be called in either case.
  Status Start();
  // Makes a running Start() end with an error, whatever it waits for. Any thread, any time.
  void CancelStart() { start_called_off_.request_stop(); }
  // Refuses new calls, ends those in flight, delivers the outbox, stops workers, closes the store:
  // all within calls.drain_timeout after calls.drain_delay, and within a second more at most.
  Status Stop();
  // Cuts the delay of a Stop() short, one that runs or will. Any thread, any time.
  void SkipDrainDelay() { hurried_.request_stop(); }

  // Whether the gRPC port does not answer any more (rpc/self_check.h): the process is of no use.
  // The descriptor is readable then.
  bool port_dead() const { return port_dead_; }
  int port_dead_fd() const { return port_dead_fd_.get(); }

  const std::string& address() const { return server_->address(); }
  const std::string& metrics_address() const;  // empty: off
  const std::string& place() const { return store_->place(); }
  // For measurements beside the services.
  pg::Pool& writes() { return store_->writes(); }

 private:
  Status OpenStore();
  Status BringUpToDate(const std::vector<TargetRow>& rows);
  Status MakeTargets(const std::vector<TargetRow>& rows);
  Status StartTargets();
  void AwaitStarted();

  const config::v1::Config config_;
  const std::string postgres_versions_dir_;
  const bool adopt_redis_keys_;
  std::stop_source start_called_off_;
  std::stop_source hurried_;
  std::atomic<bool> port_dead_ = false;
  const Fd port_dead_fd_;  // an eventfd
  const SystemClock clock_;
  Metrics metrics_;
  std::unique_ptr<Database> store_;
  std::unique_ptr<redis::Client> redis_;  // null: there is none
  std::unique_ptr<events::Transport> transport_;
  std::unique_ptr<rpc::Runtime> runtime_;
  std::optional<Platform> platform_;
  std::vector<rpc::Target> targets_;
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<rpc::Peers> peers_;
  std::unique_ptr<rpc::MetricsHttp> metrics_http_;
};

}  // namespace winnow::app
