#include "services/platform/grpc/port/socket_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace winnow::rpc {
namespace {

std::string TextOf(int family, const void* bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return inet_ntop(family, bytes, text.data(), text.size()) == nullptr ? "" : text.data();
}

const sockaddr_in& V4(const sockaddr_storage& storage) {
  return reinterpret_cast<const sockaddr_in&>(storage);
}
const sockaddr_in6& V6(const sockaddr_storage& storage) {
  return reinterpret_cast<const sockaddr_in6&>(storage);
}

}  // namespace

SocketAddress::SocketAddress(const sockaddr* address, socklen_t size) {
  std::memcpy(&storage_, address, std::min<size_t>(size, sizeof storage_));
  if (family() != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&V6(storage_).sin6_addr)) return;
  sockaddr_in inner{};
  inner.sin_family = AF_INET;
  inner.sin_port = V6(storage_).sin6_port;
  std::memcpy(&inner.sin_addr, &V6(storage_).sin6_addr.s6_addr[12], sizeof inner.sin_addr);
  storage_ = {};
  std::memcpy(&storage_, &inner, sizeof inner);
}

SocketAddress SocketAddress::AnyV6(int port) {
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(static_cast<uint16_t>(port));
  return {reinterpret_cast<const sockaddr*>(&any), sizeof any};
}

SocketAddress SocketAddress::OfSocket(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  return {reinterpret_cast<const sockaddr*>(&storage), size};
}

SocketAddress SocketAddress::OfPeer(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  return {reinterpret_cast<const sockaddr*>(&storage), size};
}

int SocketAddress::port() const {
  return ntohs(family() == AF_INET6 ? V6(storage_).sin6_port : V4(storage_).sin_port);
}

void SocketAddress::set_port(int port) {
  const uint16_t value = htons(static_cast<uint16_t>(port));
  if (family() == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(storage_).sin6_port = value;
  } else {
    reinterpret_cast<sockaddr_in&>(storage_).sin_port = value;
  }
}

bool SocketAddress::IsWildcard() const {
  if (family() == AF_INET6) return IN6_IS_ADDR_UNSPECIFIED(&V6(storage_).sin6_addr);
  return family() == AF_INET && V4(storage_).sin_addr.s_addr == htonl(INADDR_ANY);
}

socklen_t SocketAddress::size() const {
  return family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

std::string SocketAddress::ToString() const {
  if (family() == AF_INET6) {
    return "[" + TextOf(AF_INET6, &V6(storage_).sin6_addr) + "]:" + std::to_string(port());
  }
  return TextOf(AF_INET, &V4(storage_).sin_addr) + ":" + std::to_string(port());
}

std::string SocketAddress::Owner() const {
  if (family() != AF_INET6) return TextOf(AF_INET, &V4(storage_).sin_addr);
  in6_addr network = V6(storage_).sin6_addr;
  std::fill(std::begin(network.s6_addr) + 8, std::end(network.s6_addr), uint8_t{0});
  return TextOf(AF_INET6, &network) + "/64";
}

}  // namespace winnow::rpc
