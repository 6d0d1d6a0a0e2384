#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/platform/base/status.h"

namespace grpc {
class Service;
}

namespace winnow::rpc {

class Peers;  // peers.h: channels to the other services, in process or by address

// Whether a dependency answers, asked by the health service every few seconds.
struct Probe {
  std::string name;  // "postgres"
  std::function<Status()> check;
  bool vital = true;  // false: the service does its job without it; only the metric shows it
};

// One row of services/app/serve/targets.cc: a service that is made, and how to run it. Plain data;
// what the functions need lives in `state`.
struct Target {
  std::string name;          // "dedup"
  std::string service_name;  // "winnow.dedup.v1.DedupService": its health name
  std::shared_ptr<void> state;
  ::grpc::Service* grpc_service = nullptr;  // owned by state
  std::vector<Probe> probes;
  // After the server serves, so that peers can be reached: starts the workers.
  std::function<Status(Peers&)> start = [](Peers&) { return OkStatus(); };
  // Whether it still loads what it needs to answer calls: the process is not ready before. Bounded
  // by the service. A vital probe reports the same.
  std::function<bool()> is_starting = [] { return false; };
  // Before the server ends: stops the workers. Called once, also when start failed.
  std::function<void()> stop = [] {};
};

}  // namespace winnow::rpc
