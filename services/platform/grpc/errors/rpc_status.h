#pragma once

#include <google/rpc/status.pb.h>

#include <string_view>

#include "services/platform/base/status.h"

// Errors as messages: what a batch answers for one of its items. No gRPC in here: handlers.h and
// convert.h may include it.
namespace winnow::rpc {

// An error that carries an ErrorInfo with `reason` and nothing else.
Status MakeError(StatusCode code, Reason reason, std::string_view message);
Status Cancelled(std::string_view why);
Status ShuttingDown();

// The error as callers see it, with its google.rpc details. An error that none of the makers made
// is INTERNAL: its text may be a driver's, and goes to the log. INTERNAL shows a fixed text and the
// request id. Long texts and lists of violations are cut to what HTTP/2 trailers hold, and say so.
google::rpc::Status ToRpcStatus(const Status& status, std::string_view request_id);

// The way back: an error that a peer answered.
Status FromRpcStatus(const google::rpc::Status& status);

}  // namespace winnow::rpc
