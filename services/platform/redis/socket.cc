#include "services/platform/redis/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "services/platform/redis/errors.h"

namespace winnow::redis {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Status Failed(std::string_view what) {
  return Away("Redis cannot be reached (" + std::string(what) + ": " + std::strerror(errno) + ")");
}

int NewSocket(int family) {
  return ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

// Milliseconds for poll, rounded up so that it does not return just before the deadline.
int Left(Deadline deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000));
}

struct AddressesFree {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, AddressesFree>;

// Asks the resolver, whose own limit is the only one: no caller waits for it, nor does the pool's
// end.
StatusOr<Addresses> Resolve(const Address& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
  if (error != 0) return Away("the host of Redis has no address");
  return Addresses(list);
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

Status Socket::Await(short events, Deadline deadline) const {
  for (;;) {
    pollfd entry{.fd = fd_, .events = events, .revents = 0};
    const int ready = ::poll(&entry, 1, Left(deadline));
    if (ready > 0) return OkStatus();
    if (ready == 0) return DeadlineExceeded("Redis did not answer in time");
    if (errno != EINTR) return Failed("poll");
  }
}

StatusOr<Socket> Socket::Connect(const Address& address, Deadline deadline) {
  const auto connect = [&](const sockaddr* to, socklen_t size) -> StatusOr<Socket> {
    Socket made(NewSocket(to->sa_family));
    if (made.fd_ < 0) return Failed("socket");
    if (::connect(made.fd_, to, size) != 0) {
      if (errno != EINPROGRESS) return Failed("connect");
      WINNOW_RETURN_IF_ERROR(made.Await(POLLOUT, deadline));
      int error = 0;
      socklen_t length = sizeof(error);
      ::getsockopt(made.fd_, SOL_SOCKET, SO_ERROR, &error, &length);
      errno = error;
      if (error != 0) return Failed("connect");
    }
    return made;
  };
  if (!address.socket.empty()) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(static_cast<char*>(to.sun_path), address.socket.data(),
                std::min(address.socket.size(), sizeof(to.sun_path) - 1));
    return connect(reinterpret_cast<sockaddr*>(&to), sizeof(to));
  }
  WINNOW_ASSIGN_OR_RETURN(const Addresses addresses, Resolve(address));
  StatusOr<Socket> made = Away("the host of Redis has no address");
  for (const addrinfo* entry = addresses.get(); entry != nullptr; entry = entry->ai_next) {
    StatusOr<Socket> next = connect(entry->ai_addr, entry->ai_addrlen);
    if (!next.ok()) {
      made = next.status();
      continue;
    }
    const int on = 1;
    ::setsockopt(next->fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return next;
  }
  return made;
}

Status Socket::Send(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      WINNOW_RETURN_IF_ERROR(Await(POLLOUT, deadline));
    } else if (errno != EINTR) {
      return Failed("send");
    }
  }
  return OkStatus();
}

StatusOr<size_t> Socket::Receive(char* buffer, size_t size, Deadline deadline) {
  for (;;) {
    const ssize_t received = ::recv(fd_, buffer, size, 0);
    if (received > 0) return static_cast<size_t>(received);
    if (received == 0) return Away("Redis closed the connection");
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      WINNOW_RETURN_IF_ERROR(Await(POLLIN, deadline));
    } else if (errno != EINTR) {
      return Failed("receive");
    }
  }
}

bool Socket::HasInput() const {
  pollfd entry{.fd = fd_, .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, 0) > 0;
}

}  // namespace winnow::redis
