#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <memory>
#include <string>

#include "services/platform/base/status.h"

namespace winnow::app {

// How an operator's command reaches a server.
struct RemoteOptions {
  std::string address = "127.0.0.1:7400";
  std::string token_file;
  bool tls = false;
  std::string ca_file;
  std::string cert_file;
  std::string key_file;
  double timeout_seconds = 10;
};

class UnaryCalls;

// A channel and what every call over it carries.
class Remote {
 public:
  // Waits until the server answers, at most the timeout. From then on a signal ends the unary call
  // that runs; streams are their callers' to end (Canceller). Errors: UNAVAILABLE that says what to
  // try; FAILED_PRECONDITION for a file that cannot be read; CANCELLED when a signal came.
  static StatusOr<Remote> Connect(const RemoteOptions& options);

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  const std::string& address() const { return address_; }
  // Token, and a deadline that is the timeout from now.
  void PrepareCall(grpc::ClientContext& context) const;
  // The token alone: a stream has no deadline.
  void PrepareStream(grpc::ClientContext& context) const;

 private:
  Remote() = default;
  std::shared_ptr<UnaryCalls> unary_calls_;  // of the channel
  std::shared_ptr<grpc::Channel> channel_;
  std::string address_;
  std::string authorization_;
  std::chrono::milliseconds timeout_{0};
};

// What a call ended with, with everything that the server said about it.
Status ToStatus(const grpc::Status& status);

int ExitCodeOf(const Status& status);

// The exit code of an error, and the error on standard error with all its violations.
int Fail(const Status& status);

// Whether trying again may help without a change to the request.
bool IsTransient(const Status& status);

}  // namespace winnow::app
