#include "services/platform/grpc/call/watch_call.h"

#include "services/platform/grpc/errors/rpc_status.h"

namespace winnow::rpc {
namespace {

Status DroppedError() { return Internal("a watch was dropped without an end"); }

}  // namespace

WatchState::Step WatchState::NextStep() {
  if (writing_ || finished_) return Step::kNothing;
  if (MoveFrontToCurrent()) {
    writing_ = true;
    return Step::kWrite;
  }
  if (!end_ || !handler_returned_) return Step::kNothing;
  finished_ = true;
  return Step::kFinish;
}

void WatchState::Take(Step step) {
  if (step == Step::kWrite) writer_.WriteCurrent();
  if (step == Step::kFinish) writer_.FinishWatch(*end_);  // `end_` no longer changes
}

void WatchState::FallBehind() {
  DropQueue();
  end_ = MakeError(StatusCode::kResourceExhausted, Reason::kReaderTooSlow,
                   "the reader fell behind and entries were dropped: resume with the last token "
                   "that was received, and read faster");
  if (!finished_) writer_.GiveReaderGrace();
}

void WatchState::HandlerReturned(const Status& status) {
  Step step = Step::kNothing;
  {
    const std::lock_guard lock(mutex_);
    handler_returned_ = true;
    if (!status.ok()) DropQueue();
    if (!status.ok() && !end_) end_ = status;
    if (dropped_ && !end_) end_ = DroppedError();
    step = NextStep();
  }
  Take(step);
}

void WatchState::Dropped() {
  Step step = Step::kNothing;
  {
    const std::lock_guard lock(mutex_);
    dropped_ = true;
    if (!handler_returned_ || end_) return;
    end_ = DroppedError();
    step = NextStep();
  }
  Take(step);
}

void WatchState::Written(bool ok) {
  Step step = Step::kNothing;
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok) {
      DropQueue();
      if (!end_) end_ = Cancelled("the client cancelled the call");
    }
    step = NextStep();
  }
  Take(step);
}

void WatchState::End(const Status& status) {
  Step step = Step::kNothing;
  {
    const std::lock_guard lock(mutex_);
    if (end_) return;
    end_ = status;
    step = NextStep();
  }
  Take(step);
}

void WatchState::Cancel(const Status& status) {
  Step step = Step::kNothing;
  {
    const std::lock_guard lock(mutex_);
    DropQueue();
    if (!end_) end_ = status;
    step = NextStep();
  }
  Take(step);
}

void WatchState::CancelUnlessFinished() {
  const std::lock_guard lock(mutex_);
  if (!finished_) writer_.CancelWatch();
}

bool WatchState::Ended() const {
  const std::lock_guard lock(mutex_);
  return end_.has_value();
}

void WatchState::EndForShutdown() { End(ShuttingDown()); }

void WatchCall::Begin() {
  const std::shared_ptr<WatchState> watch = state();
  Status status = record_.Admit();
  if (status.ok()) {
    place_ = record_.runtime().waiting_calls().Add(watch);
    if (place_ == nullptr) {
      status = record_.runtime().WaitingCallsFull();
    } else if (!record_.runtime().pool(record_.lane()).TryPush(*this)) {
      status = record_.runtime().RequestQueueFull();
    }
  }
  if (status.ok()) return;
  watch->HandlerReturned(status);
}

void WatchCall::Run() {
  const std::shared_ptr<WatchState> watch = state();  // the call may be deleted on the last line
  const Status status = CallRecord::CatchAll([this] {
    WINNOW_RETURN_IF_ERROR(record_.CheckStart());
    return Start(record_.BatchCall());
  });
  watch->HandlerReturned(status);
}

void WatchCall::GiveReaderGrace() {
  const auto when =
      std::chrono::system_clock::now() + record_.runtime().options().slow_reader_grace;
  alarm_.Set(when, [watch = state()](bool expired) {
    if (expired) watch->CancelUnlessFinished();
  });
}

void WatchCall::CancelByCaller() {
  record_.Cancel();
  state()->Cancel(Cancelled("the client cancelled the call"));
}

}  // namespace winnow::rpc
