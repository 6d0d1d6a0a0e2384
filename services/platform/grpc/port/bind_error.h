#pragma once

#include <string>
#include <string_view>

#include "services/platform/base/url/listen_address.h"

namespace winnow::rpc {

// Why nothing can listen at `address`, and what to do: gRPC only says that it failed. `option`: the
// flag that names another, e.g. "--listen".
std::string BindError(const ListenAddress& address, std::string_view option);

// The same for an address that nothing can listen at now; empty when something can.
std::string ProbeBind(const ListenAddress& address, std::string_view option);

}  // namespace winnow::rpc
