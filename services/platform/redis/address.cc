#include "services/platform/redis/address.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "services/platform/base/url/listen_address.h"
#include "services/platform/base/url/url_escape.h"

namespace winnow::redis {
namespace {

constexpr std::string_view kTcp = "redis://";
constexpr std::string_view kUnix = "redis+unix://";
constexpr int kMaxDb = 1'000'000;
constexpr size_t kMaxSocketPath = 107;  // sun_path

Status Malformed() {
  return InvalidField("redis.url",
                      "is not a Redis address: write redis://HOST:PORT/DB or "
                      "redis+unix:///PATH?db=DB, with special characters percent-encoded");
}

std::optional<int> DbOf(std::string_view text) {
  int db = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), db);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return db >= 0 && db <= kMaxDb ? std::optional(db) : std::nullopt;
}

StatusOr<Address> ParseSocket(std::string_view text) {
  Address address;
  const size_t query = text.find('?');
  address.socket = url::DecodeEscapes(text.substr(0, query));
  if (!address.socket.starts_with('/') || address.socket.size() > kMaxSocketPath) {
    return Malformed();
  }
  if (query == std::string_view::npos) return address;
  constexpr std::string_view kDb = "db=";
  std::string_view parameter = text.substr(query + 1);
  if (!parameter.starts_with(kDb)) return Malformed();
  const std::optional<int> db = DbOf(parameter.substr(kDb.size()));
  if (!db) return Malformed();
  address.db = *db;
  return address;
}

void TakeUser(std::string_view user_info, Address& address) {
  const size_t colon = user_info.find(':');
  address.user = url::DecodeEscapes(user_info.substr(0, colon));
  if (colon != std::string_view::npos) {
    address.password = url::DecodeEscapes(user_info.substr(colon + 1));
  }
}

}  // namespace

StatusOr<Address> ParseUrl(const std::string& url) {
  std::string_view rest = url;
  if (rest.starts_with(kUnix)) return ParseSocket(rest.substr(kUnix.size()));
  if (!rest.starts_with(kTcp) || rest.find('?') != std::string_view::npos) return Malformed();
  rest.remove_prefix(kTcp.size());
  Address address;
  if (const size_t slash = rest.find('/'); slash != std::string_view::npos) {
    const std::string_view path = rest.substr(slash + 1);
    const std::optional<int> db = path.empty() ? std::optional(0) : DbOf(path);
    if (!db) return Malformed();
    address.db = *db;
    rest = rest.substr(0, slash);
  }
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    TakeUser(rest.substr(0, at), address);
    rest.remove_prefix(at + 1);
  }
  // "host", "host:port", "[v6]", "[v6]:port"
  const bool has_port = rest.find(':') != std::string_view::npos && !rest.ends_with(']');
  const auto place = ParseListenAddress(
      has_port ? std::string(rest) : std::string(rest) + ":" + std::to_string(address.port), "");
  if (!place.ok() || place->port == 0) return Malformed();
  address.host = place->host;
  address.port = place->port;
  return address;
}

std::string Address::ToString() const {
  const std::string suffix = db == 0 ? "" : "/" + std::to_string(db);
  if (!socket.empty()) return "redis+unix://" + socket + (db == 0 ? "" : "?db=" + suffix.substr(1));
  const bool brackets = host.find(':') != std::string::npos;
  return "redis://" + (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port) + suffix;
}

}  // namespace winnow::redis
