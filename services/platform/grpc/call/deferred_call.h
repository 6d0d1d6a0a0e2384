#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "services/platform/grpc/call/call_record.h"

namespace winnow::rpc {

// The end of a deferred call, which many may race for: its completion, its deadline, its caller
// going away, shutdown. The first claims it; the call finishes when also the handler has returned,
// because until then it reads the request.
class DeferredEnd : public LongCall {
 public:
  class Finisher {
   public:
    virtual void FinishDeferred(const Status& status) = 0;

   protected:
    ~Finisher() = default;
  };

  explicit DeferredEnd(Finisher& finisher) : finisher_(finisher) {}

  // True for the first only, who then must Settle.
  bool Claim() { return !claimed_.exchange(true); }
  void Settle(const Status& status);
  // An error of the handler ends the call.
  void HandlerReturned(const Status& status);
  // No completion is left. What the handler returns or throws after that says more.
  void Dropped();
  // Both at once, for ends that carry no response.
  void EndWith(const Status& status);
  void EndForShutdown() override;

 private:
  Finisher& finisher_;  // alive until it has finished
  std::atomic<bool> claimed_ = false;
  std::mutex mutex_;
  bool handler_returned_ = false;
  bool dropped_ = false;
  std::optional<Status> status_;
};

class DeferredCall : public grpc::ServerUnaryReactor, private Job, private DeferredEnd::Finisher {
 public:
  void Begin();

 protected:
  DeferredCall(Runtime& runtime, const Method& method, grpc::CallbackServerContext& context)
      : record_(runtime, method, context, Lifetime::kUnary), end_(new DeferredEnd(*this)) {}
  const std::shared_ptr<DeferredEnd>& end() const { return end_; }

 private:
  virtual void Handle(const CallContext& call) = 0;
  void Run() final;
  void ArmDeadline();
  void FinishDeferred(const Status& status) final { Finish(record_.End(status)); }
  void OnCancel() final;
  void OnDone() final { delete this; }

  CallRecord record_;
  std::shared_ptr<DeferredEnd> end_;
  std::unique_ptr<LongCalls::Place> place_;
  grpc::Alarm alarm_;  // owned here and not by end_, which the alarm's callback holds
};

// What a Completion holds: ends the call when the last copy of it is dropped.
template <class Response>
class DeferredAnswer {
 public:
  DeferredAnswer(std::shared_ptr<DeferredEnd> end, Response& response)
      : end_(std::move(end)), response_(response) {}
  ~DeferredAnswer() { end_->Dropped(); }
  DeferredAnswer(const DeferredAnswer&) = delete;
  DeferredAnswer& operator=(const DeferredAnswer&) = delete;

  void Give(StatusOr<Response> response) {
    if (!end_->Claim()) return;
    const Status status = response.status();
    if (status.ok()) response_ = *std::move(response);
    end_->Settle(status);
  }

 private:
  std::shared_ptr<DeferredEnd> end_;
  Response& response_;  // alive until the call has finished, which takes the claim
};

template <class Request, class Response, class Handler>
class TypedDeferredCall final : public DeferredCall {
 public:
  TypedDeferredCall(Runtime& runtime, const Method& method, grpc::CallbackServerContext& context,
                    const Request& request, Response& response, Handler handler)
      : DeferredCall(runtime, method, context),
        request_(request),
        response_(response),
        handler_(std::move(handler)) {}

 private:
  void Handle(const CallContext& call) override {
    auto answer = std::make_shared<DeferredAnswer<Response>>(end(), response_);
    handler_(call, request_, Completion<Response>([answer](StatusOr<Response> response) {
               answer->Give(std::move(response));
             }));
  }

  size_t Bytes() const override { return request_.ByteSizeLong(); }

  const Request& request_;
  Response& response_;
  Handler handler_;
};

}  // namespace winnow::rpc
