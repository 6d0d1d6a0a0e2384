#pragma once

#include <grpcpp/support/server_interceptor.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace winnow::rpc {

// gRPC ends a call whose request it cannot parse with an UNIMPLEMENTED without a word, and our
// binding never sees it. These make it the error it is: INVALID_ARGUMENT with INVALID_FIELD.
// `services`: full names of those that this server has, every method of which it implements.
std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
UnparsedRequestTellers(std::set<std::string> services);

}  // namespace winnow::rpc
