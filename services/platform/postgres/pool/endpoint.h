#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "services/platform/base/status.h"
#include "services/platform/postgres/primary/primary_watch.h"
#include "services/platform/postgres/session/connection.h"

namespace winnow::pg {

// Where connections of one purpose lead.
struct Endpoint {
  ConnectionSettings settings;              // as the URL has it
  std::shared_ptr<PrimaryWatch> primary{};  // null: any host that libpq takes
  std::vector<HostSettings> hosts{};        // of the URL; used with `primary`
};
StatusOr<Endpoint> MakeEndpoint(const std::string& url, const std::string& password,
                                const std::string& application_name,
                                std::shared_ptr<PrimaryWatch> primary);

// A new connection, or null when `stop` comes first; with a watch, one to the current primary,
// which it is outdated by the end of. libpq's connect lasts as long as a silent server lets it, up
// to connect_timeout for each host, and nothing can end it: so it runs on a thread of its own,
// which is left to itself then, also when the primary changes: the new one is tried at once. Throws
// what Connection's constructor throws.
std::unique_ptr<Connection> ConnectUnlessStopped(const Endpoint& endpoint,
                                                 const std::stop_token& stop);

}  // namespace winnow::pg
