#include "tests/support/http/tcp_proxy.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace winnow::test {
namespace {

constexpr int kPollMs = 10;

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

Fd NewSocket() { return Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

bool SendAll(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

// Hands on what has come; false when either side is gone.
bool HandOn(int from, int to) {
  std::array<char, 64 * 1024> buffer;
  const ssize_t received = ::recv(from, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (received < 0) return errno == EAGAIN || errno == EINTR;
  return received > 0 && SendAll(to, {buffer.data(), static_cast<size_t>(received)});
}

}  // namespace

TcpProxy::TcpProxy(int port) : to_(port), listener_(NewSocket()) {
  const int small = 64 * 1024;  // what a caller can send to who does not read
  ::setsockopt(listener_.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_.get(), generic, size) != 0 || ::listen(listener_.get(), 64) != 0 ||
      ::getsockname(listener_.get(), generic, &size) != 0) {
    throw std::runtime_error("no port for a proxy");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Serve(); });
}

TcpProxy::~TcpProxy() {
  ending_ = true;
  thread_.join();
}

void TcpProxy::Mute() {
  const std::lock_guard lock(mutex_);
  for (Pair& pair : pairs_) pair.is_mute = true;
}

void TcpProxy::Serve() {
  while (!ending_) {
    std::vector<pollfd> ready{{listener_.get(), POLLIN, 0}};
    {
      const std::lock_guard lock(mutex_);
      for (const Pair& pair : pairs_) {
        if (pair.is_mute) continue;
        ready.push_back({pair.caller.get(), POLLIN, 0});
        ready.push_back({pair.peer.get(), POLLIN, 0});
      }
    }
    if (::poll(ready.data(), ready.size(), kPollMs) <= 0) continue;
    if (ready.front().revents != 0) Take();
    Forward();
  }
}

void TcpProxy::Take() {
  Pair pair;
  pair.caller = Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!pair.caller.valid()) return;
  pair.is_mute = to_ == 0;
  if (!pair.is_mute) {
    pair.peer = NewSocket();
    const sockaddr_in address = Loopback(to_);
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    if (::connect(pair.peer.get(), generic, sizeof(address)) != 0) return;
  }
  const std::lock_guard lock(mutex_);
  pairs_.push_back(std::move(pair));
  ++taken_;
}

void TcpProxy::Forward() {
  const std::lock_guard lock(mutex_);
  std::erase_if(pairs_, [](const Pair& pair) {
    return !pair.is_mute && !(HandOn(pair.caller.get(), pair.peer.get()) &&
                              HandOn(pair.peer.get(), pair.caller.get()));
  });
}

}  // namespace winnow::test
