#include "services/platform/grpc/port/listen_sockets.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstring>
#include <string>
#include <utility>

#include "services/platform/grpc/port/socket_address.h"

namespace winnow::rpc {
namespace {

// The kernel cuts it to net.core.somaxconn.
constexpr int kBacklog = 4096;

bool Set(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

// Not valid when it cannot be bound.
Fd OpenOne(const SocketAddress& address, bool both_families, int user_timeout_ms) {
  Fd fd = Fd::AboveStandardStreams(
      socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return Fd();
  // No SO_REUSEPORT: a second process on the port is an error, not a partner to share calls with.
  if (!Set(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1)) return Fd();
  if (address.family() == AF_INET6) Set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, both_families ? 0 : 1);
  Set(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  Set(fd.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, user_timeout_ms);
  if (bind(fd.get(), address.get(), address.size()) != 0 || listen(fd.get(), kBacklog) != 0) {
    return Fd();
  }
  return fd;
}

// The addresses to bind, in order; the flag: whether one socket takes both families.
std::vector<std::pair<SocketAddress, bool>> Resolve(const ListenAddress& address) {
  std::vector<std::pair<SocketAddress, bool>> resolved;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  if (getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found) != 0) return resolved;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    resolved.emplace_back(SocketAddress(info->ai_addr, info->ai_addrlen), false);
  }
  freeaddrinfo(found);
  return resolved;
}

}  // namespace

ListenSockets OpenListenSockets(const ListenAddress& address, int user_timeout_ms) {
  ListenSockets result{.sockets = {}, .port = address.port};
  auto candidates = Resolve(address);
  if (!candidates.empty() && candidates.front().first.IsWildcard()) {
    Fd both = OpenOne(SocketAddress::AnyV6(result.port), true, user_timeout_ms);
    if (both.valid()) {
      result.port = SocketAddress::OfSocket(both.get()).port();
      result.sockets.push_back(std::move(both));
      return result;
    }
  }
  for (auto& [candidate, both_families] : candidates) {
    candidate.set_port(result.port);
    Fd fd = OpenOne(candidate, both_families, user_timeout_ms);
    if (!fd.valid()) continue;
    result.port = SocketAddress::OfSocket(fd.get()).port();
    result.sockets.push_back(std::move(fd));
  }
  return result;
}

}  // namespace winnow::rpc
