#include "services/platform/grpc/bind_error.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace winnow::rpc {
namespace {

// The errno of binding to one resolved address; 0 when it can be.
int TryBind(const addrinfo& info) {
  const int fd = socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  int error = 0;
  if (bind(fd, info.ai_addr, info.ai_addrlen) != 0 || listen(fd, 1) != 0) error = errno;
  close(fd);
  return error;
}

std::string Explain(int error) {
  switch (error) {
    case 0:
      return "another process was on it a moment ago; try again";
    case EADDRINUSE:
      return "another process listens there; end it (ss -ltnp shows it) or choose another port "
             "with --listen";
    case EACCES:
      return "this user may not listen on ports below 1024; choose another port";
    case EADDRNOTAVAIL:
      return "this machine does not have that address; ip addr shows those that it has";
    default:
      return std::strerror(error);
  }
}

}  // namespace

std::string BindError(const ListenAddress& address) {
  const std::string prefix = "cannot listen on " + address.ToString() + ": ";
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  if (const int error = getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found);
      error != 0) {
    return prefix + gai_strerror(error);
  }
  int error = 0;
  for (const addrinfo* info = found; info != nullptr && error == 0; info = info->ai_next) {
    error = TryBind(*info);
  }
  freeaddrinfo(found);
  return prefix + Explain(error);
}

}  // namespace winnow::rpc
