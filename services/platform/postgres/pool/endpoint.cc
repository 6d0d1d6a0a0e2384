#include "services/platform/postgres/pool/endpoint.h"

#include <stdexcept>

#include "services/platform/process/unless_stopped.h"

namespace winnow::pg {

StatusOr<Endpoint> MakeEndpoint(const std::string& url, const std::string& password,
                                const std::string& application_name,
                                std::shared_ptr<PrimaryWatch> primary) {
  Endpoint endpoint;
  WINNOW_ASSIGN_OR_RETURN(endpoint.settings, ParseUrl(url, password, application_name));
  if (primary) {
    WINNOW_ASSIGN_OR_RETURN(endpoint.hosts, ParseHosts(url, password, application_name));
  }
  endpoint.primary = std::move(primary);
  return endpoint;
}

std::unique_ptr<Connection> ConnectUnlessStopped(const Endpoint& endpoint,
                                                 const std::stop_token& stop) {
  if (!endpoint.primary) {
    auto made = UnlessStopped(stop, Deadline::max(), [settings = endpoint.settings] {
      return std::make_unique<Connection>(settings);
    });
    return made ? *std::move(made) : nullptr;
  }
  PrimaryWatch& watch = *endpoint.primary;
  while (true) {
    const StatusOr<PrimaryWatch::Primary> primary = watch.Current(stop);
    if (stop.stop_requested()) return nullptr;
    if (!primary.ok()) throw std::runtime_error(std::string(primary.status().message()));
    const ConnectionGuard guard{watch.generation(), primary->generation, primary->system,
                                primary->timeline};
    std::stop_source attempt;
    const auto abandon = [attempt]() mutable { attempt.request_stop(); };
    const std::stop_callback stopped(stop, abandon);
    const std::shared_ptr<void> changed = watch.OnChange(abandon);
    if (guard.current->load(std::memory_order_acquire) != guard.generation) continue;
    auto made = UnlessStopped(attempt.get_token(), Deadline::max(),
                              [settings = endpoint.hosts.at(primary->host).settings, guard] {
                                return std::make_unique<Connection>(settings, guard);
                              });
    if (made) return *std::move(made);
  }
}

}  // namespace winnow::pg
