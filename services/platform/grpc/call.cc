#include "services/platform/grpc/call.h"

#include "services/platform/uuid.h"

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
