#include "services/platform/grpc/port/bind_error.h"

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

std::string Explain(int error, std::string_view option) {
  switch (error) {
    case 0:
      return "another process was on it a moment ago; try again";
    case EADDRINUSE:
      return "another process listens there; end it (ss -ltnp shows it) or choose another port "
             "with " +
             std::string(option);
    case EACCES:
      return "this user may not listen on ports below 1024; choose another port with " +
             std::string(option);
    case EADDRNOTAVAIL:
      return "this machine does not have that address; ip addr shows those that it has";
    default:
      return std::strerror(error);
  }
}

// Over all addresses that it resolves to.
struct Tries {
  int resolve_error = 0;  // of getaddrinfo
  int first_error = 0;    // an errno
  bool any = false;       // whether one can be bound
};

Tries TryAll(const ListenAddress& address) {
  Tries tries;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  tries.resolve_error = getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found);
  if (tries.resolve_error != 0) return tries;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    const int error = TryBind(*info);
    if (error == 0) tries.any = true;
    if (tries.first_error == 0) tries.first_error = error;
  }
  freeaddrinfo(found);
  return tries;
}

std::string Explain(const ListenAddress& address, const Tries& tries, std::string_view option) {
  return "cannot listen on " + address.ToString() + ": " +
         (tries.resolve_error != 0 ? gai_strerror(tries.resolve_error)
                                   : Explain(tries.first_error, option));
}

}  // namespace

std::string BindError(const ListenAddress& address, std::string_view option) {
  return Explain(address, TryAll(address), option);
}

std::string ProbeBind(const ListenAddress& address, std::string_view option) {
  const Tries tries = TryAll(address);
  return tries.any ? "" : Explain(address, tries, option);
}

}  // namespace winnow::rpc
