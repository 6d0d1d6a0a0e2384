#pragma once

#include <grpcpp/support/server_callback.h>

#include <utility>

#include "services/platform/grpc/call/call_record.h"

namespace winnow::rpc {

// A unary call from arrival to answer. What depends on its types is below.
class UnaryCall : public grpc::ServerUnaryReactor, private Job {
 public:
  // Hands the call to its pool, or answers why not.
  void Begin();

 protected:
  UnaryCall(Runtime& runtime, const Method& method, grpc::CallbackServerContext& context)
      : record_(runtime, method, context, Lifetime::kUnary) {}

 private:
  virtual Status Handle(const CallContext& call) = 0;
  void Run() final;
  void HandleAndFinish();
  void OnCancel() final { record_.Cancel(); }
  void OnDone() final { delete this; }
  // gRPC's own reactors say so, and save the change to one more thread that it makes for others
  // before OnDone and OnCancel: ours take no longer than those.
  bool InternalInlineable() final { return true; }

  CallRecord record_;
};

template <class Request, class Response, class Handler>
class TypedUnaryCall final : public UnaryCall {
 public:
  TypedUnaryCall(Runtime& runtime, const Method& method, grpc::CallbackServerContext& context,
                 const Request& request, Response& response, Handler handler)
      : UnaryCall(runtime, method, context),
        request_(request),
        response_(response),
        handler_(std::move(handler)) {}

 private:
  Status Handle(const CallContext& call) override {
    StatusOr<Response> response = handler_(call, request_);
    if (!response.ok()) return response.status();
    response_ = *std::move(response);
    return OkStatus();
  }

  size_t Bytes() const override { return request_.ByteSizeLong(); }

  const Request& request_;
  Response& response_;
  Handler handler_;
};

}  // namespace winnow::rpc
