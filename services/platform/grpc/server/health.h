#pragma once

#include <grpcpp/health_check_service_interface.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/grpc/peers/target.h"
#include "services/platform/process/metrics.h"

namespace winnow::rpc {

// Asks each target's dependencies periodically, and reports to gRPC's health service which targets
// can do their job. "" is the process: serving until it drains, whatever its dependencies do.
class Health {
 public:
  // Asks once before it returns. `service` is the server's and outlives this.
  Health(grpc::HealthCheckServiceInterface& service, std::span<const Target> targets,
         std::chrono::milliseconds interval, Metrics& metrics);
  ~Health() { EndServing(); }

  // Asks again and again, until all targets can do their job, the deadline, or `stop`; whether they
  // can. Before that an unready target is not logged: the process is starting.
  bool AwaitServing(Deadline deadline, const std::stop_token& stop);

  // NOT_SERVING for all, for good.
  void EndServing();

  // The last result of every probe, as JSON: for the health page (metrics_http.h). Does not wait
  // for a probe that is running.
  std::string ToJson() const;

 private:
  struct WatchedProbe {
    Probe probe;
    Gauge* up = nullptr;
    Status last;
    bool logged_failure = false;
  };
  struct Watched {
    std::string service_name;
    std::function<bool()> is_starting;
    std::vector<WatchedProbe> probes;
    bool serving = false;
    bool known = false;
    bool logged_failure = false;  // that it is NOT_SERVING
  };
  bool AskAll();
  void LogChange(const Watched& watched, WatchedProbe& probe) const;
  void WriteJson();
  bool Pause(std::chrono::milliseconds time);
  void EndStart();
  void Ask(Watched& watched);
  void Loop(std::chrono::milliseconds interval);

  grpc::HealthCheckServiceInterface& service_;
  std::mutex asking_;  // guards watched_
  std::vector<Watched> watched_;
  bool starting_ = true;  // guarded by asking_
  mutable std::mutex json_mutex_;
  std::string json_;  // guarded by json_mutex_
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace winnow::rpc
