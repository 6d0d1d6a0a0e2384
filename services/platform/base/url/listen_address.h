#pragma once

#include <string>
#include <string_view>

#include "services/platform/base/status.h"

namespace winnow {

// HOST:PORT of a setting.
struct ListenAddress {
  std::string host;  // without the brackets of an IPv6 address
  int port = 0;

  std::string ToString() const;  // with them
  // Whether only this machine can reach it: 127.0.0.0/8, ::1 or localhost.
  bool IsLoopback() const;
};

// Errors name `field`. Port 0 means any free one.
StatusOr<ListenAddress> ParseListenAddress(std::string_view text, std::string_view field);

}  // namespace winnow
