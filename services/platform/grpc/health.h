#pragma once

#include <grpcpp/health_check_service_interface.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "services/platform/clock.h"
#include "services/platform/grpc/target.h"
#include "services/platform/metrics.h"

namespace winnow::rpc {

// Asks each target's dependencies every so often, and tells gRPC's health service which targets can
// do their job. "" is the process: serving until it drains, whatever its dependencies do.
class Health {
 public:
  // Asks once before it returns. `service` is the server's and outlives this.
  Health(grpc::HealthCheckServiceInterface& service, std::span<const Target> targets,
         std::chrono::milliseconds interval, Metrics& metrics);
  ~Health() { EndServing(); }

  // Asks again and again, until all targets can do their job, the deadline, or `stop`; whether they
  // can. What cannot before is no news to the log: the process is starting.
  bool AwaitServing(Deadline deadline, const std::stop_token& stop);

  // NOT_SERVING for all, for good.
  void EndServing();

 private:
  struct Watched {
    std::string service_name;
    std::vector<Probe> probes;
    std::vector<Gauge*> up;
    bool serving = false;
    bool known = false;
    bool told = false;  // the log, that it cannot do its job
  };
  bool AskAll();
  bool Pause(std::chrono::milliseconds time);
  void EndStart();
  void Ask(Watched& watched);
  void Loop(std::chrono::milliseconds interval);

  grpc::HealthCheckServiceInterface& service_;
  std::mutex asking_;  // guards watched_
  std::vector<Watched> watched_;
  bool starting_ = true;  // guarded by asking_
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace winnow::rpc
