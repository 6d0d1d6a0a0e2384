#include "services/platform/base/url/listen_address.h"

#include <arpa/inet.h>

#include <charconv>

namespace winnow {
namespace {

constexpr int kMaxPort = 65535;

// The host without brackets; empty if there is none, or one that needs brackets and has none.
std::string HostOf(std::string_view text) {
  if (text.size() > 2 && text.front() == '[' && text.back() == ']') {
    return std::string(text.substr(1, text.size() - 2));
  }
  return text.find_first_of(":[] ") == std::string_view::npos ? std::string(text) : "";
}

int PortOf(std::string_view text) {
  int port = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port <= kMaxPort ? port : -1;
}

}  // namespace

StatusOr<ListenAddress> ParseListenAddress(std::string_view text, std::string_view field) {
  const size_t colon = text.rfind(':');
  ListenAddress address;
  if (colon != std::string_view::npos) {
    address.host = HostOf(text.substr(0, colon));
    address.port = PortOf(text.substr(colon + 1));
  }
  if (address.host.empty() || address.port < 0) {
    return InvalidField(std::string(field),
                        "must be HOST:PORT, e.g. \"127.0.0.1:7400\" or \"[::1]:0\", not \"" +
                            std::string(text) + "\"");
  }
  return address;
}

std::string ListenAddress::ToString() const {
  const bool brackets = host.find(':') != std::string::npos;
  return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool ListenAddress::IsLoopback() const {
  if (host == "localhost") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace winnow
