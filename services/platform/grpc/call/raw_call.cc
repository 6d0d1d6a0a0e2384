#include "services/platform/grpc/call/raw_call.h"

#include <grpcpp/support/slice.h>

#include <memory>

namespace winnow::rpc {
namespace {

void Free(void* bytes) {
  const std::unique_ptr<SharedBytes> owned(static_cast<SharedBytes*>(bytes));
}

// Without copying.
grpc::ByteBuffer ToByteBuffer(SharedBytes bytes) {
  SharedBytes* const kept = std::make_unique<SharedBytes>(std::move(bytes)).release();
  // gRPC takes a pointer to what it never writes to.
  const grpc::Slice slice(const_cast<char*>((*kept)->data()), (*kept)->size(), Free, kept);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace

Status RawCall::TryQuick(bool& answered) {
  WINNOW_RETURN_IF_ERROR(record_.Admit());
  if (!Parse()) {
    return InvalidField("",
                        "the request is not a valid message of this method: encode it with the "
                        "proto of this release");
  }
  return CallRecord::CatchAll([&] {
    WINNOW_ASSIGN_OR_RETURN(SharedBytes bytes, Quick(record_.call()));
    answered = bytes != nullptr;
    if (answered) response_ = ToByteBuffer(std::move(bytes));
    return OkStatus();
  });
}

void RawCall::Begin() {
  bool answered = false;
  if (const Status status = TryQuick(answered); answered || !status.ok()) {
    Finish(record_.End(status));
  } else if (!record_.runtime().pool(record_.lane()).TryPush(*this)) {
    Finish(record_.End(record_.runtime().RequestQueueFull()));
  }
}

void RawCall::Run() {
  Status status = record_.CheckStart();
  if (status.ok()) {
    status = CallRecord::CatchAll([this] {
      WINNOW_ASSIGN_OR_RETURN(std::string bytes, Handle(record_.call()));
      response_ = ToByteBuffer(std::make_shared<const std::string>(std::move(bytes)));
      return OkStatus();
    });
  }
  Finish(record_.End(status));  // `this` may be gone when it returns
}

}  // namespace winnow::rpc
