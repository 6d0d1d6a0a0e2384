#pragma once

#include <grpcpp/server_context.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>

#include "services/platform/grpc/call/call_context.h"
#include "services/platform/grpc/runtime/method.h"
#include "services/platform/grpc/runtime/runtime.h"

namespace winnow::rpc {

// Whether a call has a deadline of its own or may last as long as its caller likes.
enum class Lifetime { kUnary, kStream };

// One call from its arrival to its one log line and count: what all reactors have in common.
class CallRecord {
 public:
  CallRecord(Runtime& runtime, const Method& method, grpc::CallbackServerContext& context,
             Lifetime lifetime);
  ~CallRecord();

  // Authenticates, and refuses what cannot end in time or comes while shutting down.
  Status Admit();
  // Asked on the pool's thread: the queue may have eaten the time that was left.
  Status CheckStart() const;
  // Runs `body`, and makes INTERNAL of what it throws.
  static Status CatchAll(const std::function<Status()>& body);
  // The one exit: counts, logs, and answers what the caller sees. Once.
  grpc::Status End(const Status& ended);

  const CallContext& call() const { return call_; }
  // The call as a batch of a stream sees it: with a deadline of its own.
  CallContext BatchCall() const;
  void Cancel() { cancelled_->store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_->load(std::memory_order_relaxed); }
  Runtime& runtime() const { return runtime_; }
  MethodPool lane() const { return lane_; }

 private:
  Status CheckStart(Deadline now) const;
  Status Authenticate();
  void Log(const Status& status, StatusCode code, std::chrono::steady_clock::duration took) const;

  Runtime& runtime_;
  MethodStats& stats_;
  const MethodPool lane_;
  const bool needs_auth_;
  grpc::CallbackServerContext& context_;
  const std::chrono::steady_clock::time_point arrival_;
  const std::shared_ptr<std::atomic<bool>> cancelled_;  // shared with copies of the CallContext
  CallContext call_;
  bool from_outside_ = false;
  bool ended_ = false;
};

}  // namespace winnow::rpc
