#pragma once

#include <string>
#include <string_view>

#include "services/platform/base/status.h"

namespace winnow::rpc {

// Who may call: a bearer token of the configuration, and one that this process makes up for its own
// in-process peers, which have no address or certificate to be known by.
class Auth {
 public:
  // An empty `bearer_token` lets everybody in.
  explicit Auth(std::string bearer_token);

  // What an `authorization` header makes of a caller: "bearer", "inprocess", or "" when it has no
  // valid token.
  std::string_view CallerOf(std::string_view authorization) const;
  bool token_needed() const { return !bearer_.empty(); }

  // Values of the `authorization` header for calls to peers.
  const std::string& in_process_header() const { return in_process_; }
  const std::string& bearer_header() const { return bearer_; }  // empty when there is no token

 private:
  std::string bearer_;  // "Bearer <token>"
  std::string in_process_;
};

// Errors name auth.bearer_token_file.
StatusOr<std::string> CheckBearerToken(std::string token);

}  // namespace winnow::rpc
