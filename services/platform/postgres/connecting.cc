#include "services/platform/postgres/connecting.h"

#include <stdexcept>

#include "services/platform/unless_stopped.h"

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
  ConnectionSettings settings = endpoint.settings;
  std::optional<ConnectionGuard> guard;
  if (endpoint.primary) {
    const StatusOr<PrimaryWatch::Primary> primary = endpoint.primary->Current(stop);
    if (!primary.ok()) {
      if (stop.stop_requested()) return nullptr;
      throw std::runtime_error(std::string(primary.status().message()));
    }
    settings = endpoint.hosts.at(primary->host).settings;
    guard = {endpoint.primary->generation(), primary->generation, primary->system,
             primary->timeline};
  }
  auto made = UnlessStopped(stop, Deadline::max(), [settings, guard] {
    return std::make_unique<Connection>(settings, guard);
  });
  return made ? *std::move(made) : nullptr;
}

}  // namespace winnow::pg
