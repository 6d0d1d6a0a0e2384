#include "services/platform/grpc/cut_connections.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <charconv>
#include <filesystem>
#include <string>
#include <vector>

namespace winnow::rpc {
namespace {

// Those that gRPC opened it keeps to itself, so they are looked for.
std::vector<int> Descriptors() {
  std::vector<int> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const std::string name = entry.path().filename().string();
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    if (fd >= 0) found.push_back(fd);
  }
  return found;
}

// The port that a socket is bound to here; -1 for what is no socket of TCP.
int LocalPort(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return -1;
  if (address.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
  }
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  }
  return -1;
}

bool Listens(int fd) {
  int listens = 0;
  socklen_t size = sizeof(listens);
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0;
}

}  // namespace

void CutConnections(int port) {
  // Listeners first: nobody is to come back.
  for (const bool listeners : {true, false}) {
    for (const int fd : Descriptors()) {
      if (LocalPort(fd) == port && Listens(fd) == listeners) shutdown(fd, SHUT_RDWR);
    }
  }
}

}  // namespace winnow::rpc
