#pragma once

#include <grpcpp/support/status.h>

#include <string_view>

#include "services/platform/base/status.h"

// The one place where our errors become gRPC's, and the way back for callers of peers.
namespace winnow::rpc {

// As ToRpcStatus (rpc_status.h), for what a call ends with. The code that ends the call logs the
// detail.
grpc::Status ToGrpcStatus(const Status& status, std::string_view request_id);

// Tokens are read by parts that do not know the request: the violation names the field of the
// method's request that is the token, where that is not page_token. `method` as Method::name.
Status NameTokenField(const Status& status, std::string_view method);

// What a call on a peer's stub ended with. Winnow's own errors come back as they were made, except
// that a defect there and a refused token are defects here too. What the transport made is
// UNAVAILABLE (PEER_UNAVAILABLE) or DEADLINE_EXCEEDED. `peer` names it in messages.
Status FromGrpcStatus(const grpc::Status& status, std::string_view peer);

}  // namespace winnow::rpc
