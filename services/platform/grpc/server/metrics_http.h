#pragma once

#include <functional>
#include <memory>
#include <string>

#include "services/platform/base/status.h"
#include "services/platform/process/metrics.h"

namespace winnow::rpc {

// GET /metrics, for Prometheus; GET /health, the state of every probe as JSON.
class MetricsHttp {
 public:
  // `listen` is metrics.listen: HOST:PORT, loopback unless `insecure`; null for "off". Errors name
  // the setting. `metrics` outlives it.
  static StatusOr<std::unique_ptr<MetricsHttp>> Start(const std::string& listen, bool insecure,
                                                      const Metrics& metrics);
  ~MetricsHttp();

  // What GET /health answers from now on, by any thread; null: 503, as before the first call.
  void ServeHealth(std::function<std::string()> page);

  // Where it listens, with the port that was chosen for port 0.
  const std::string& address() const { return address_; }

 private:
  struct State;
  MetricsHttp();
  std::unique_ptr<State> state_;
  std::string address_;
};

}  // namespace winnow::rpc
