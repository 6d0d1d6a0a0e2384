#pragma once

#include <string>

#include "services/platform/listen_address.h"

namespace winnow::rpc {

// Why nothing can listen at `address`, and what to do: gRPC only says that it failed.
std::string BindError(const ListenAddress& address);

}  // namespace winnow::rpc
