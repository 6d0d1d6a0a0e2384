#pragma once

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <string>
#include <utility>

#include "services/platform/grpc/call/call_record.h"

namespace winnow::rpc {

// An encoded answer, which other calls may be answered with as well.
using SharedBytes = std::shared_ptr<const std::string>;

// A unary call whose answer is bytes that were encoded before: no message is filled or serialised.
// What can be answered without waiting is answered on gRPC's own thread; the rest as any other
// call. What depends on its types is below.
class RawCall : public grpc::ServerUnaryReactor, private Job {
 public:
  void Begin();

 protected:
  RawCall(Runtime& runtime, const Method& method, grpc::CallbackServerContext& context,
          grpc::ByteBuffer& response)
      : record_(runtime, method, context, Lifetime::kUnary), response_(response) {}

 private:
  virtual bool Parse() = 0;
  // Null: Handle answers.
  virtual StatusOr<SharedBytes> Quick(const CallContext& call) = 0;
  virtual StatusOr<std::string> Handle(const CallContext& call) = 0;
  Status TryQuick(bool& answered);
  void Run() final;
  void OnCancel() final { record_.Cancel(); }
  void OnDone() final { delete this; }
  // As of a UnaryCall.
  bool InternalInlineable() final { return true; }

  CallRecord record_;
  grpc::ByteBuffer& response_;
};

// `Parsed` is what the quick handler leaves for the other: nothing is read from a request twice.
template <class Request, class Parsed, class QuickHandler, class Handler>
class TypedRawCall final : public RawCall {
 public:
  TypedRawCall(Runtime& runtime, const Method& method, grpc::CallbackServerContext& context,
               const grpc::ByteBuffer& request, grpc::ByteBuffer& response, QuickHandler quick,
               Handler handler)
      : RawCall(runtime, method, context, response),
        bytes_(request),
        quick_(std::move(quick)),
        handler_(std::move(handler)) {}

 private:
  bool Parse() override {
    return grpc::SerializationTraits<Request>::Deserialize(&bytes_, &request_).ok();
  }
  StatusOr<SharedBytes> Quick(const CallContext& call) override {
    return quick_(call, request_, parsed_);
  }
  StatusOr<std::string> Handle(const CallContext& call) override { return handler_(call, parsed_); }
  size_t Bytes() const override { return request_.ByteSizeLong(); }

  grpc::ByteBuffer bytes_;
  Request request_;
  Parsed parsed_;
  QuickHandler quick_;
  Handler handler_;
};

}  // namespace winnow::rpc
