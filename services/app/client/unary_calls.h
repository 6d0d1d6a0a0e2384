#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "services/app/client/interrupt.h"
#include "services/app/client/signal_watch.h"

namespace winnow::app {

// The unary calls of a channel that are in flight. A signal cancels them.
class UnaryCalls {
 public:
  explicit UnaryCalls(const Interrupt& interrupt);
  void Add(grpc::ClientContext* call);
  void Remove(grpc::ClientContext* call);

 private:
  void Cancel();
  std::mutex mutex_;
  std::set<grpc::ClientContext*> calls_;
  bool cancelled_ = false;   // those that begin later, too
  const SignalWatch watch_;  // last: it cancels
};

// A channel whose unary calls are known to `calls`.
std::shared_ptr<grpc::Channel> Intercepted(
    const std::string& address, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    const grpc::ChannelArguments& arguments, std::shared_ptr<UnaryCalls> calls);

}  // namespace winnow::app
