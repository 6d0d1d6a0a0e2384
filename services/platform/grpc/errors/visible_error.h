#pragma once

#include <google/rpc/status.pb.h>

#include <string_view>

#include "services/platform/base/status.h"

// What rpc_status.cc and error_exit.cc share.
namespace winnow::rpc {

// Whether callers see a fixed text instead of this error.
bool IsDefect(const Status& status);

google::rpc::Status VisibleError(const Status& status, std::string_view request_id);

}  // namespace winnow::rpc
