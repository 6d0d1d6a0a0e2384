#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

namespace winnow::rpc {

// An IPv4 or IPv6 address with its port. An IPv4 address inside an IPv6 one is the IPv4 address.
class SocketAddress {
 public:
  SocketAddress() = default;
  SocketAddress(const sockaddr* address, socklen_t size);
  static SocketAddress AnyV6(int port);
  // Of the socket itself; of its peer. Without a family if there is none.
  static SocketAddress OfSocket(int fd);
  static SocketAddress OfPeer(int fd);

  int family() const { return storage_.ss_family; }
  int port() const;
  void set_port(int port);
  bool IsWildcard() const;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const;

  // "192.0.2.1:443", "[2001:db8::1]:443"
  std::string ToString() const;
  // Whom connections are counted for: an IPv4 address, or the /64 network of an IPv6 one, all of
  // which one machine may have.
  std::string Owner() const;

 private:
  sockaddr_storage storage_{};
};

}  // namespace winnow::rpc
