#pragma once

#include <string>

#include "services/platform/base/status.h"

namespace winnow::redis {

// Where a Redis is: redis://[USER[:PASSWORD]@]HOST[:PORT][/DB], or redis+unix:///PATH[?db=DB].
struct Address {
  std::string host = "localhost";
  int port = 6379;
  std::string socket;  // path of a Unix socket: then host and port mean nothing
  int db = 0;
  std::string user;  // empty: Redis' default user
  std::string password;

  // Without the password: for messages.
  std::string ToString() const;
};

// Its error is INVALID_ARGUMENT that says what is wrong, without the password. User and password
// are percent-decoded.
StatusOr<Address> ParseUrl(const std::string& url);

}  // namespace winnow::redis
