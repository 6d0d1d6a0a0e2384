#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/support/server_callback.h>

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "services/platform/grpc/call/call_record.h"
#include "services/platform/grpc/call/subscriber.h"

namespace winnow::rpc {

// Bytes that wait for a watch's reader, at most; less when those of others take much (ByteBudget).
inline constexpr size_t kMaxWatchBytes = size_t{8} << 20;

// What a watch does next, decided under the lock. One operation is out at a time, so that it may be
// started after the lock was given back.
class WatchState : public LongCall {
 public:
  class Writer {
   public:
    virtual void WriteCurrent() = 0;
    virtual void FinishWatch(const Status& status) = 0;
    virtual void GiveReaderGrace() = 0;  // then, when the end is still unread: CancelWatch
    virtual void CancelWatch() = 0;

   protected:
    ~Writer() = default;
  };

  explicit WatchState(Writer& writer) : writer_(writer) {}

  // Until the handler has returned it reads the request, and the call may not finish. An error ends
  // the watch, without what is queued.
  void HandlerReturned(const Status& status);
  // No subscriber is left. What the handler returns or throws after that says more.
  void Dropped();
  void Written(bool ok);
  void End(const Status& status);
  void Cancel(const Status& status);
  void CancelUnlessFinished();
  bool Ended() const;
  void EndForShutdown() override;

 protected:
  enum class Step { kNothing, kWrite, kFinish };
  virtual bool MoveFrontToCurrent() = 0;  // false when nothing is queued
  virtual void DropQueue() = 0;
  Step NextStep();
  void Take(Step step);
  // The reader is too far behind: what is queued is dropped.
  void FallBehind();

  Writer& writer_;  // alive until it has finished
  mutable std::mutex mutex_;
  std::optional<Status> end_;

 private:
  bool handler_returned_ = false;
  bool dropped_ = false;
  bool writing_ = false;
  bool finished_ = false;
};

template <class Response>
class WatchQueue final : public WatchState {
 public:
  WatchQueue(Writer& writer, ByteBudget& budget) : WatchState(writer), budget_(budget) {}

  bool Send(Response response) {
    const size_t bytes = response.ByteSizeLong();
    Step step = Step::kNothing;
    {
      const std::lock_guard lock(mutex_);
      if (end_) return false;
      if (queue_.size() < kMaxWatchQueue && bytes_ + bytes <= kMaxWatchBytes &&
          budget_.Fits(bytes_, bytes)) {
        bytes_ += bytes;
        budget_.Take(bytes);
        queue_.emplace_back(std::move(response), bytes);
      } else {
        FallBehind();
      }
      step = NextStep();
    }
    Take(step);
    return !Ended();
  }
  const Response& current() const { return current_; }
  bool Idle() const {
    const std::lock_guard lock(mutex_);
    return queue_.empty();
  }

 private:
  bool MoveFrontToCurrent() override {
    if (queue_.empty()) return false;
    current_ = std::move(queue_.front().first);
    bytes_ -= queue_.front().second;
    budget_.GiveBack(queue_.front().second);
    queue_.pop_front();
    return true;
  }
  void DropQueue() override {
    queue_.clear();
    budget_.GiveBack(std::exchange(bytes_, 0));
  }

  ByteBudget& budget_;
  std::deque<std::pair<Response, size_t>> queue_;
  size_t bytes_ = 0;
  Response current_;
};

// What a Subscriber holds.
template <class Response>
class WatchSink final : public Subscriber<Response>::Sink {
 public:
  explicit WatchSink(std::shared_ptr<WatchQueue<Response>> queue) : queue_(std::move(queue)) {}
  ~WatchSink() override { queue_->Dropped(); }
  bool Send(Response response) override { return queue_->Send(std::move(response)); }
  void End(const Status& status) override { queue_->End(status); }
  bool Ended() const override { return queue_->Ended(); }
  bool Idle() const override { return queue_->Idle(); }

 private:
  std::shared_ptr<WatchQueue<Response>> queue_;
};

// The part of a watch that is the same for all types.
class WatchCall : protected WatchState::Writer, private Job {
 public:
  void Begin();

 protected:
  WatchCall(Runtime& runtime, const Method& method, grpc::CallbackServerContext& context)
      : record_(runtime, method, context, Lifetime::kStream), context_(context) {}
  virtual std::shared_ptr<WatchState> state() const = 0;
  void CancelByCaller();

  CallRecord record_;

 private:
  virtual Status Start(const CallContext& call) = 0;
  void Run() final;
  void GiveReaderGrace() final;
  void CancelWatch() final { context_.TryCancel(); }

  grpc::CallbackServerContext& context_;
  std::unique_ptr<LongCalls::Place> place_;
  grpc::Alarm alarm_;
};

template <class Request, class Response, class StartFunction>
class TypedWatchCall final : public grpc::ServerWriteReactor<Response>, public WatchCall {
 public:
  TypedWatchCall(Runtime& runtime, const Method& method, grpc::CallbackServerContext& context,
                 const Request& request, StartFunction start)
      : WatchCall(runtime, method, context),
        request_(request),
        start_(std::move(start)),
        queue_(new WatchQueue<Response>(*this, runtime.watch_bytes())) {}

 private:
  std::shared_ptr<WatchState> state() const override { return queue_; }
  Status Start(const CallContext& call) override {
    return start_(call, request_,
                  Subscriber<Response>(std::make_shared<WatchSink<Response>>(queue_)));
  }
  void WriteCurrent() override { this->StartWrite(&queue_->current()); }
  void FinishWatch(const Status& status) override { this->Finish(record_.End(status)); }
  void OnWriteDone(bool ok) override { queue_->Written(ok); }
  void OnCancel() override { CancelByCaller(); }
  void OnDone() override { delete this; }

  const Request& request_;
  StartFunction start_;
  std::shared_ptr<WatchQueue<Response>> queue_;
};

}  // namespace winnow::rpc
