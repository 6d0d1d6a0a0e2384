#include "services/platform/grpc/call/call_context.h"

#include "services/platform/base/uuid.h"

namespace winnow::rpc {

CallContext BackgroundCall(std::chrono::milliseconds timeout, std::string_view traceparent) {
  CallContext call;
  call.deadline = std::chrono::steady_clock::now() + timeout;
  call.request_id = NewUuidV7(SystemClock().Now());
  call.caller = "inprocess";
  call.trace = ParseOrStartTrace(traceparent);
  return call;
}

}  // namespace winnow::rpc
