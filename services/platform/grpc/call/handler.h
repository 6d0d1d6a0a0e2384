#pragma once

#include <utility>

#include "services/platform/base/status.h"
#include "services/platform/grpc/call/call_context.h"

// Declares the handler of a unary RPC of the service's package v1.
#define WINNOW_HANDLER(Name) \
  StatusOr<v1::Name##Response> Name(const rpc::CallContext& call, const v1::Name##Request& request)

namespace winnow::rpc {

// A response with one message: Respond(&v1::GetRunResponse::mutable_run, ToProto(run)).
template <class Response, class Message>
Response Respond(Message* (Response::*field)(), Message message) {
  Response response;
  *(response.*field)() = std::move(message);
  return response;
}

}  // namespace winnow::rpc
