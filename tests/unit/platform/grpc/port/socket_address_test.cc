#include "services/platform/grpc/port/socket_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace winnow::rpc {
namespace {

SocketAddress V6(const char* text, int port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  inet_pton(AF_INET6, text, &address.sin6_addr);
  SocketAddress made(reinterpret_cast<const sockaddr*>(&address), sizeof address);
  made.set_port(port);
  return made;
}

TEST(SocketAddress, AnIpv4AddressInsideAnIpv6OneIsTheIpv4Address) {
  const SocketAddress address = V6("::ffff:192.0.2.7", 443);
  EXPECT_EQ(address.family(), AF_INET);
  EXPECT_EQ(address.ToString(), "192.0.2.7:443");
  EXPECT_EQ(address.Owner(), "192.0.2.7");
}

TEST(SocketAddress, AllAddressesOfANetworkHaveOneOwner) {
  EXPECT_EQ(V6("2001:db8:1:2:3:4:5:6", 1).ToString(), "[2001:db8:1:2:3:4:5:6]:1");
  EXPECT_EQ(V6("2001:db8:1:2:3:4:5:6", 1).Owner(), "2001:db8:1:2::/64");
  EXPECT_EQ(V6("2001:db8:1:2::9", 2).Owner(), "2001:db8:1:2::/64");
  EXPECT_NE(V6("2001:db8:1:3::9", 2).Owner(), "2001:db8:1:2::/64");
}

TEST(SocketAddress, KnowsWildcards) {
  EXPECT_TRUE(SocketAddress::AnyV6(0).IsWildcard());
  EXPECT_FALSE(V6("::1", 0).IsWildcard());
}

}  // namespace
}  // namespace winnow::rpc
