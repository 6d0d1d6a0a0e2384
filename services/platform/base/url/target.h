#pragma once

#include <cstddef>
#include <string>

#include "services/platform/base/status.h"

namespace winnow::http {

inline constexpr size_t kMaxUrlBytes = 8'192;

// A URL taken apart by libcurl's own parser, the one that will connect: so there is no second
// opinion on what its host is.
struct Target {
  std::string url;     // normalised, without fragment
  std::string scheme;  // "http" or "https"
  std::string host;    // lower case, IPv6 in brackets, odd IPv4 spellings in dotted form
  int port = 0;
  std::string origin() const { return scheme + "://" + authority(); }
  std::string authority() const { return host + ":" + std::to_string(port); }
};

// Errors: kind kBadUrl.
StatusOr<Target> ParseTarget(const std::string& url);
// `location` as a browser reads it on the page `base`.
StatusOr<Target> Resolve(const Target& base, const std::string& location);

}  // namespace winnow::http
