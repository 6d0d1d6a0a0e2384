#pragma once

#include <grpcpp/grpcpp.h>

#include <utility>

#include "services/platform/grpc/call/call_context.h"
#include "services/platform/grpc/call/deferred_call.h"
#include "services/platform/grpc/call/ingest_call.h"
#include "services/platform/grpc/call/raw_call.h"
#include "services/platform/grpc/call/subscriber.h"
#include "services/platform/grpc/call/unary_call.h"
#include "services/platform/grpc/call/watch_call.h"
#include "services/platform/grpc/runtime/method.h"
#include "services/platform/grpc/runtime/runtime.h"

// Binds handlers to the generated CallbackService. Everything that is the same for all calls
// happens here, once: authenticate, admit, check the deadline, run on a bounded pool, catch the
// last exception, log and count, finish. Services bind their methods by bind_methods.h.
namespace winnow::rpc {

class Binder {
 public:
  explicit Binder(Runtime& runtime) : runtime_(runtime) {}

  // `handler`: StatusOr<Response>(const CallContext&, const Request&), on a thread of the lane's
  // pool.
  template <class Request, class Response, class Handler>
  grpc::ServerUnaryReactor* Unary(grpc::CallbackServerContext* context, const Request* request,
                                  Response* response, const Method& method, Handler handler) {
    return Begun(new TypedUnaryCall<Request, Response, Handler>(
        runtime_, method, *context, *request, *response, std::move(handler)));
  }

  // For a method of WithRawCallbackMethod_<Name>: responses are serialized messages.
  // `quick`: StatusOr<std::shared_ptr<const std::string>>(const CallContext&, const Request&,
  // Parsed&), on gRPC's thread, so it must not wait for anything; if it returns null, `handler`
  // answers. `handler`: StatusOr<std::string>(const CallContext&, const Parsed&), on a pool thread.
  // Name the types: binder_.Raw<Request, Parsed>(...).
  template <class Request, class Parsed, class QuickHandler, class Handler>
  grpc::ServerUnaryReactor* Raw(grpc::CallbackServerContext* context,
                                const grpc::ByteBuffer* request, grpc::ByteBuffer* response,
                                const Method& method, QuickHandler quick, Handler handler) {
    return Begun(new TypedRawCall<Request, Parsed, QuickHandler, Handler>(
        runtime_, method, *context, *request, *response, std::move(quick), std::move(handler)));
  }

  // `handler`: void(const CallContext&, const Request&, Completion<Response>), on a pool thread; it
  // parks the completion and returns. The call ends with DEADLINE_EXCEEDED at its deadline if
  // nobody ends it.
  template <class Request, class Response, class Handler>
  grpc::ServerUnaryReactor* Deferred(grpc::CallbackServerContext* context, const Request* request,
                                     Response* response, const Method& method, Handler handler) {
    return Begun(new TypedDeferredCall<Request, Response, Handler>(
        runtime_, method, *context, *request, *response, std::move(handler)));
  }

  // Bidi stream, one response per request in order. `handler`:
  // StatusOr<std::vector<Response>>(const CallContext&, std::span<const Request>), on a pool
  // thread, with what has arrived, 1 to kMaxIngestBatch messages, one batch at a time per stream.
  // An error ends the stream after the answers of earlier batches. Reading stops while two batches
  // wait: flow control reaches the sender. Say the types: binder_.Ingest<Request, Response>(...).
  template <class Request, class Response, class Handler>
  grpc::ServerBidiReactor<Request, Response>* Ingest(grpc::CallbackServerContext* context,
                                                     const Method& method, Handler handler) {
    return IngestAhead<Request, Response>(
        context, method,
        [handler = std::move(handler)](
            const CallContext& call, std::span<const Request> requests,
            const std::function<void()>& ready) -> StatusOr<IngestAnswers<Response>> {
          WINNOW_ASSIGN_OR_RETURN(auto answers, handler(call, requests));
          ready();
          return IngestAnswers<Response>([answers = std::move(answers)]() mutable {
            return StatusOr<std::vector<Response>>(std::move(answers));
          });
        });
  }

  // The same for handlers whose work goes on elsewhere: the next batch is begun while one's answers
  // are not there. `handler`: StatusOr<IngestAnswers<Response>>(const CallContext&,
  // std::span<const Request>, std::function<void()> ready); the requests are its own until it
  // returns. `ready` says that what it returned can
  // be called, which is done once, on a pool thread; whatever becomes of the stream it has to be
  // called, from any thread, before or after the handler returns.
  template <class Request, class Response, class Handler>
  grpc::ServerBidiReactor<Request, Response>* IngestAhead(grpc::CallbackServerContext* context,
                                                          const Method& method, Handler handler) {
    return Begun(new TypedIngestCall<Request, Response, Handler>(runtime_, method, *context,
                                                                 std::move(handler)));
  }

  // Server stream. `start`: Status(const CallContext&, const Request&, Subscriber<Response>), on a
  // pool thread; it registers the subscriber with its source (watch.h). Say the types here
  // too.
  template <class Request, class Response, class Start>
  grpc::ServerWriteReactor<Response>* Watch(grpc::CallbackServerContext* context,
                                            const Request* request, const Method& method,
                                            Start start) {
    return Begun(new TypedWatchCall<Request, Response, Start>(runtime_, method, *context, *request,
                                                              std::move(start)));
  }

 private:
  // gRPC binds the call when it gets it back; until then it cannot be deleted.
  template <class Call>
  static Call* Begun(Call* call) {
    call->Begin();
    return call;
  }

  Runtime& runtime_;
};

}  // namespace winnow::rpc
