#pragma once

#include <memory>
#include <stop_token>

#include "services/platform/postgres/connection.h"

namespace winnow::pg {

// A new connection, or null when `stop` comes first. libpq's connect lasts as long as a silent
// server lets it, up to connect_timeout for each host, and nothing can end it: so it runs on a
// thread of its own, which is left to itself then. Throws what Connection's constructor throws.
std::unique_ptr<Connection> ConnectUnlessStopped(const ConnectionSettings& settings,
                                                 const std::stop_token& stop);

}  // namespace winnow::pg
