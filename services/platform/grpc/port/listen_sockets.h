#pragma once

#include <vector>

#include "services/platform/base/url/listen_address.h"
#include "services/platform/process/fd.h"

namespace winnow::rpc {

struct ListenSockets {
  std::vector<Fd> sockets;  // non-blocking, listening; empty: nothing could be bound
  int port = 0;             // with the one that was chosen for port 0
};

// Listens at every address that `address` resolves to, on one port. A wildcard address takes IPv4
// and IPv6 where the machine has both. Addresses that cannot be bound are left out as long as one
// can; bind_error.h explains why none could. Accepted sockets inherit TCP_NODELAY and a limit of
// `user_timeout_ms` on unacknowledged data.
ListenSockets OpenListenSockets(const ListenAddress& address, int user_timeout_ms);

}  // namespace winnow::rpc
