#pragma once

#include <memory>
#include <string>

#include "services/platform/metrics.h"
#include "services/platform/status.h"

namespace winnow::rpc {

// GET /metrics, for Prometheus.
class MetricsHttp {
 public:
  // `listen` is metrics.listen: HOST:PORT, loopback unless `insecure`; null for "off". Errors name
  // the setting. `metrics` outlives it.
  static StatusOr<std::unique_ptr<MetricsHttp>> Start(const std::string& listen, bool insecure,
                                                      const Metrics& metrics);
  ~MetricsHttp();

  // Where it listens, with the port that was chosen for port 0.
  const std::string& address() const { return address_; }

 private:
  struct State;
  MetricsHttp();
  std::unique_ptr<State> state_;
  std::string address_;
};

}  // namespace winnow::rpc
