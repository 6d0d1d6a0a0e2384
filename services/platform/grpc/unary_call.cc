#include "services/platform/grpc/unary_call.h"

namespace winnow::rpc {

void UnaryCall::Begin() {
  if (const Status admitted = record_.Admit(); !admitted.ok()) {
    Finish(record_.End(admitted));
  } else if (!record_.runtime().pool(record_.lane()).TryPush(*this)) {
    Finish(record_.End(Overloaded("as many calls wait for a thread as may", Runtime::kRetryAfter)));
  }
}

void UnaryCall::Run() {
  Status status = record_.CheckStart();
  if (status.ok()) {
    status = CallRecord::CatchAll([this] { return Handle(record_.call()); });
  }
  Finish(record_.End(status));  // `this` may be gone when it returns
}

}  // namespace winnow::rpc
