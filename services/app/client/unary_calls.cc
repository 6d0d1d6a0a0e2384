#include "services/app/client/unary_calls.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/support/client_interceptor.h>

#include <utility>
#include <vector>

namespace winnow::app {
namespace {

using grpc::experimental::ClientInterceptorFactoryInterface;
using grpc::experimental::ClientRpcInfo;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;

// Goes with its call's context, at the latest.
class InFlight final : public grpc::experimental::Interceptor {
 public:
  InFlight(std::shared_ptr<UnaryCalls> calls, grpc::ClientContext* call)
      : calls_(std::move(calls)), call_(call) {
    calls_->Add(call_);
  }
  ~InFlight() override { calls_->Remove(call_); }
  void Intercept(InterceptorBatchMethods* methods) override {
    // It has ended; its context may go away at any time.
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_STATUS)) {
      calls_->Remove(call_);
    }
    methods->Proceed();
  }

 private:
  const std::shared_ptr<UnaryCalls> calls_;
  grpc::ClientContext* const call_;
};

class Factory final : public ClientInterceptorFactoryInterface {
 public:
  explicit Factory(std::shared_ptr<UnaryCalls> calls) : calls_(std::move(calls)) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(ClientRpcInfo* call) override {
    if (call->type() != ClientRpcInfo::Type::UNARY) return nullptr;
    return std::make_unique<InFlight>(calls_, call->client_context()).release();
  }

 private:
  const std::shared_ptr<UnaryCalls> calls_;
};

}  // namespace

UnaryCalls::UnaryCalls(const Interrupt& interrupt) : watch_(interrupt, [this](int) { Cancel(); }) {}

void UnaryCalls::Add(grpc::ClientContext* call) {
  const std::scoped_lock lock(mutex_);
  if (cancelled_) call->TryCancel();
  calls_.insert(call);
}

void UnaryCalls::Remove(grpc::ClientContext* call) {
  const std::scoped_lock lock(mutex_);
  calls_.erase(call);
}

void UnaryCalls::Cancel() {
  const std::scoped_lock lock(mutex_);
  cancelled_ = true;
  for (grpc::ClientContext* call : calls_) call->TryCancel();
}

std::shared_ptr<grpc::Channel> Intercepted(
    const std::string& address, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    const grpc::ChannelArguments& arguments, std::shared_ptr<UnaryCalls> calls) {
  std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<Factory>(std::move(calls)));
  return grpc::experimental::CreateCustomChannelWithInterceptors(address, credentials, arguments,
                                                                 std::move(factories));
}

}  // namespace winnow::app
