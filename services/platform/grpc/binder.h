#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "services/platform/grpc/call.h"

// Binds handlers to the generated CallbackService. Everything that is the same for all calls
// happens here, once: authenticate, admit, check the deadline, run on a bounded pool, catch the
// last exception, log and count, finish. Used by service.cc files only.
//
//   grpc::ServerUnaryReactor* GetItem(grpc::CallbackServerContext* context, const GetItemRequest*
// request,                                     GetItemResponse* response) override {     return
// binder_.Unary(context, request, response, kGetItem,                          [this](const
// rpc::CallContext& call, const GetItemRequest& r) {                            return
// handlers_.GetItem(call, r);                          });   }
namespace winnow::rpc {

class Runtime;  // runtime.h: pools, admission, metrics, auth; owned by main

// Which pool runs a method.
enum class Lane { kRead, kWrite };

struct Method {
  std::string_view name;  // full: "winnow.collector.v1.CollectorService/GetItem"
  Lane lane = Lane::kRead;
  bool needs_auth = true;
};

// Messages that an Ingest stream hands to its handler at once, at most.
inline constexpr int kMaxIngestBatch = 1000;

class Binder {
 public:
  explicit Binder(Runtime& runtime) : runtime_(runtime) {}

  // `handler`: StatusOr<Response>(const CallContext&, const Request&), on a thread of the lane's
  // pool.
  template <class Request, class Response, class Handler>
  grpc::ServerUnaryReactor* Unary(grpc::CallbackServerContext* context, const Request* request,
                                  Response* response, const Method& method, Handler handler);

  // `handler`: void(const CallContext&, const Request&, Completion<Response>), on a pool thread; it
  // parks the completion and returns. The call ends with DEADLINE_EXCEEDED at its deadline if
  // nobody ends it.
  template <class Request, class Response, class Handler>
  grpc::ServerUnaryReactor* Deferred(grpc::CallbackServerContext* context, const Request* request,
                                     Response* response, const Method& method, Handler handler);

  // Bidi stream, one response per request in order. `handler`:
  // StatusOr<std::vector<Response>>(const CallContext&, std::span<const Request>), on a pool
  // thread, with what has arrived, 1 to kMaxIngestBatch messages, one batch at a time per stream.
  // An error ends the stream. Reading stops while two batches wait: flow control reaches the
  // sender.
  template <class Request, class Response, class Handler>
  grpc::ServerBidiReactor<Request, Response>* Ingest(grpc::CallbackServerContext* context,
                                                     const Method& method, Handler handler);

  // Server stream. `start`: Status(const CallContext&, const Request&, Subscriber<Response>), on a
  // pool thread; it registers the subscriber with whoever feeds it (watch.h).
  template <class Request, class Response, class Start>
  grpc::ServerWriteReactor<Response>* Watch(grpc::CallbackServerContext* context,
                                            const Request* request, const Method& method,
                                            Start start);

 private:
  Runtime& runtime_;
};

}  // namespace winnow::rpc
