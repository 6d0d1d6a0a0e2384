#include "services/platform/grpc/call/unary_call.h"

namespace winnow::rpc {

void UnaryCall::Begin() {
  if (const Status admitted = record_.Admit(); !admitted.ok()) {
    Finish(record_.End(admitted));
  } else if (record_.lane() == MethodPool::kInline) {
    HandleAndFinish();
  } else if (!record_.runtime().pool(record_.lane()).TryPush(*this)) {
    Finish(record_.End(record_.runtime().RequestQueueFull()));
  }
}

void UnaryCall::Run() {
  if (const Status late = record_.CheckStart(); !late.ok()) {
    Finish(record_.End(late));
  } else {
    HandleAndFinish();
  }
}

// `this` may be gone when it returns.
void UnaryCall::HandleAndFinish() {
  Finish(record_.End(CallRecord::CatchAll([this] { return Handle(record_.call()); })));
}

}  // namespace winnow::rpc
