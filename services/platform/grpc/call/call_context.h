#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/grpc/call/trace_context.h"

// What a handler knows of its call. No gRPC in here: handlers and consumers include only this.
namespace winnow::rpc {

struct CallContext {
  Deadline deadline;       // always set: the caller's, or the default; never more than the maximum
  std::string request_id;  // the caller's x-request-id, or a new UUID
  std::string caller;      // "bearer", "mtls:<subject>", "inprocess" or "anonymous"
  TraceContext trace;
  std::function<bool()> cancelled = [] { return false; };

  std::chrono::milliseconds TimeLeft() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(deadline -
                                                                 std::chrono::steady_clock::now());
  }
};

// The context of a call that no caller made: a worker's own. It goes on with the trace of
// `traceparent` when that is one.
CallContext BackgroundCall(std::chrono::milliseconds timeout, std::string_view traceparent = {});

// Ends a deferred call, from any thread, once; what comes after the first is ignored. Dropping the
// last copy without finishing ends the call with INTERNAL, so that none hangs.
template <class Response>
using Completion = std::function<void(StatusOr<Response>)>;

// Gives the answers to a batch of an ingest stream, once they are there; called once.
template <class Response>
using IngestAnswers = std::function<StatusOr<std::vector<Response>>()>;

}  // namespace winnow::rpc
