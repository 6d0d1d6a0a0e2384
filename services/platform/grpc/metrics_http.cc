#include "services/platform/grpc/metrics_http.h"

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <exception>
#include <vector>

#include "services/platform/grpc/bind_error.h"
#include "services/platform/listen_address.h"

namespace winnow::rpc {

struct MetricsHttp::State {
  State(std::vector<std::string> settings, std::shared_ptr<prometheus::Collectable> source)
      : metrics(std::move(source)), exposer(std::move(settings)) {
    exposer.RegisterCollectable(metrics);
  }

  std::shared_ptr<prometheus::Collectable> metrics;  // the exposer only holds a weak pointer
  prometheus::Exposer exposer;
};

MetricsHttp::MetricsHttp() = default;
MetricsHttp::~MetricsHttp() = default;

StatusOr<std::unique_ptr<MetricsHttp>> MetricsHttp::Start(const std::string& listen, bool insecure,
                                                          const Metrics& metrics) {
  std::unique_ptr<MetricsHttp> http;
  if (listen == "off") return http;
  WINNOW_ASSIGN_OR_RETURN(ListenAddress address, ParseListenAddress(listen, "metrics.listen"));
  if (!address.IsLoopback() && !insecure) {
    return InvalidField("metrics.listen",
                        "\"" + listen +
                            "\" is reachable from other machines, in plain text: "
                            "listen on 127.0.0.1, or say --insecure when a mesh encrypts");
  }
  http.reset(new MetricsHttp);
  try {
    http->state_ = std::make_unique<State>(
        std::vector<std::string>{"listening_ports", address.ToString(), "num_threads", "2",
                                 "request_timeout_ms", "10000"},
        metrics.Source());
    address.port = http->state_->exposer.GetListeningPorts().at(0);
  } catch (const std::exception&) {  // only says that it failed
    return InvalidField("metrics.listen", BindError(address));
  }
  http->address_ = address.ToString();
  return http;
}

}  // namespace winnow::rpc
