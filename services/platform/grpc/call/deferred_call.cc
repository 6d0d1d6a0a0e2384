#include "services/platform/grpc/call/deferred_call.h"

#include "services/platform/grpc/errors/rpc_status.h"

namespace winnow::rpc {
namespace {

Status DroppedError() { return Internal("a deferred call was dropped without an answer"); }

}  // namespace

void DeferredEnd::Settle(const Status& status) {
  {
    const std::lock_guard lock(mutex_);
    if (!handler_returned_) {
      status_ = status;
      return;
    }
  }
  finisher_.FinishDeferred(status);
}

void DeferredEnd::HandlerReturned(const Status& status) {
  if (!status.ok()) EndWith(status);
  bool dropped = false;
  bool settled = false;
  {
    const std::lock_guard lock(mutex_);
    handler_returned_ = true;
    dropped = dropped_;
    settled = status_.has_value();
  }
  if (settled) {
    finisher_.FinishDeferred(*status_);
  } else if (dropped) {
    EndWith(DroppedError());
  }
}

void DeferredEnd::Dropped() {
  {
    const std::lock_guard lock(mutex_);
    dropped_ = true;
    if (!handler_returned_) return;
  }
  EndWith(DroppedError());
}

void DeferredEnd::EndWith(const Status& status) {
  if (Claim()) Settle(status);
}

void DeferredEnd::EndForShutdown() { EndWith(ShuttingDown()); }

void DeferredCall::Begin() {
  Status status = record_.Admit();
  if (status.ok()) {
    place_ = record_.runtime().waiting_calls().Add(end_);
    if (place_ == nullptr) {
      status = record_.runtime().WaitingCallsFull();
    } else if (!record_.runtime().pool(record_.lane()).TryPush(*this)) {
      status = record_.runtime().RequestQueueFull();
    }
  }
  if (status.ok()) return;
  end_->HandlerReturned(status);
}

void DeferredCall::Run() {
  // The end keeps itself while this runs: the call may finish, and be deleted, on another thread as
  // soon as the handler has returned.
  const std::shared_ptr<DeferredEnd> end = end_;
  const Status status = CallRecord::CatchAll([this] {
    WINNOW_RETURN_IF_ERROR(record_.CheckStart());
    ArmDeadline();
    Handle(record_.call());
    return OkStatus();
  });
  end->HandlerReturned(status);
}

void DeferredCall::ArmDeadline() {
  const auto left = record_.call().deadline - std::chrono::steady_clock::now();
  const auto when = std::chrono::system_clock::now() +
                    std::chrono::duration_cast<std::chrono::system_clock::duration>(left);
  alarm_.Set(when, [end = end_](bool expired) {
    if (expired) {
      end->EndWith(DeadlineExceeded("nothing happened before the deadline; call again to go on"));
    }
  });
}

void DeferredCall::OnCancel() {
  record_.Cancel();
  end_->EndWith(Cancelled("the client cancelled the call"));
}

}  // namespace winnow::rpc
