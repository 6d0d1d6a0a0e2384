#include "services/platform/http/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace winnow::http {
namespace {

struct Network {
  uint32_t base;
  int bits;
};

constexpr uint32_t V4(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return (a << 24) | (b << 16) | (c << 8) | d;
}

// Addresses that are not public, or must not be called.
constexpr Network kClosed[] = {
    {V4(0, 0, 0, 0), 8},         // this network
    {V4(10, 0, 0, 0), 8},        // private
    {V4(100, 64, 0, 0), 10},     // CGNAT
    {V4(127, 0, 0, 0), 8},       // loopback
    {V4(168, 63, 129, 16), 32},  // a cloud's metadata service at a public address
    {V4(169, 254, 0, 0), 16},    // link-local, metadata
    {V4(172, 16, 0, 0), 12},     // private
    {V4(192, 0, 0, 0), 24},      // protocol assignments
    {V4(192, 0, 2, 0), 24},      // documentation
    {V4(192, 88, 99, 0), 24},    // 6to4 relays
    {V4(192, 168, 0, 0), 16},    // private
    {V4(198, 18, 0, 0), 15},     // benchmarks
    {V4(198, 51, 100, 0), 24},   // documentation
    {V4(203, 0, 113, 0), 24},    // documentation
    {V4(224, 0, 0, 0), 4},       // multicast
    {V4(240, 0, 0, 0), 4},       // reserved, broadcast
};

bool IsGlobalV4(uint32_t address) {
  return std::none_of(std::begin(kClosed), std::end(kClosed), [&](const Network& network) {
    const uint32_t mask = ~uint32_t{0} << (32 - network.bits);
    return (address & mask) == network.base;
  });
}

uint32_t Word(const uint8_t* bytes) { return V4(bytes[0], bytes[1], bytes[2], bytes[3]); }

// Only 2000::/3 is global, less what is set apart in it; and NAT64, by the address it stands for.
bool IsGlobalV6(const uint8_t* bytes) {
  const uint32_t first = Word(bytes);
  const uint32_t second = Word(bytes + 4);
  if (first == 0x0064ff9b && second == 0 && Word(bytes + 8) == 0) {
    return IsGlobalV4(Word(bytes + 12));
  }
  if ((bytes[0] & 0xE0) != 0x20) return false;  // also ::, ::1, mapped, ULA, link-local, multicast
  if ((first & 0xFFFFFE00) == 0x20010000) return false;  // 2001::/23: Teredo, ORCHID, ...
  if (first == 0x20010db8) return false;                 // documentation
  if ((first >> 16) == 0x2002) return false;             // 6to4: an IPv4 address inside
  if ((first & 0xFFFFF000) == 0x3fff0000) return false;  // documentation
  if ((first >> 16) == 0x3ffe) return false;             // 6bone, returned
  return true;
}

}  // namespace

bool IsGlobalAddress(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    return IsGlobalV4(ntohl(v4.sin_addr.s_addr));
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    return v6.sin6_scope_id == 0 && IsGlobalV6(v6.sin6_addr.s6_addr);
  }
  return false;
}

bool IsGlobalAddress(const std::string& literal) {
  in_addr v4{};
  if (inet_pton(AF_INET, literal.c_str(), &v4) == 1) return IsGlobalV4(ntohl(v4.s_addr));
  in6_addr v6{};
  return inet_pton(AF_INET6, literal.c_str(), &v6) == 1 && IsGlobalV6(v6.s6_addr);
}

}  // namespace winnow::http
