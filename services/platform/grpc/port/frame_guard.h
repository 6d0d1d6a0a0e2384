#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/platform/process/metrics.h"

namespace winnow::rpc {

// Puts a FrameMeter (frame_meter.h) between the kernel and gRPC: the process's recvmsg(), which
// gRPC 1.51 reads its sockets by, and SSL_read(), for what comes encrypted, are ours
// (docs/adr/0016). A connection whose meter finds against it reads as reset, and gRPC closes it.

// Metered from now on, as long as the descriptor is this socket, which receives HTTP/2 in plain
// text. Before gRPC is given it. Connections over TLS need no call: they are known by being the
// server's side, for no other part of the process serves TLS.
// `owner`: SocketAddress::Owner().
void GuardConnection(int fd, std::string owner);

// False for a while after many connections of `owner` were cut: one cut connection is followed by
// the next otherwise.
bool MayConnect(const std::string& owner);

// Shows how many connections were cut, until the handles are destroyed.
[[nodiscard]] std::vector<std::shared_ptr<void>> CountCutConnections(Metrics& metrics);

}  // namespace winnow::rpc
