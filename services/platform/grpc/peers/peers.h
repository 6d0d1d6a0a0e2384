#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "services/platform/grpc/call/call_context.h"
#include "services/platform/grpc/peers/target.h"
#include "services/platform/grpc/runtime/runtime.h"
#include "winnow/config/v1/config.pb.h"

namespace winnow::rpc {

// Another service of ours: where to call it, and as whom. Used by service.cc files:
//
//   WINNOW_ASSIGN_OR_RETURN(rpc::Peer collector, peers.Find("collector"));
//   auto stub = CollectorService::NewStub(collector.channel());
//   grpc::ClientContext context;
//   collector.Prepare(context, call);
//   Status status = rpc::FromGrpcStatus(stub->GetItem(&context, request, &response), "collector");
class Peer {
 public:
  Peer(std::shared_ptr<grpc::Channel> channel, std::string authorization)
      : channel_(std::move(channel)), authorization_(std::move(authorization)) {}
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  // Deadline, request id, trace and bearer token of a call on behalf of `call`. A worker makes one
  // with BackgroundCall.
  void Prepare(grpc::ClientContext& context, const CallContext& call) const;

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::string authorization_;  // empty: none
};

// The other services: those of this process by the in-process channel, others by the addresses of
// the configuration.
class Peers {
 public:
  static StatusOr<std::unique_ptr<Peers>> Make(const config::v1::Config& config,
                                               const Runtime& runtime,
                                               std::span<const Target> local,
                                               std::shared_ptr<grpc::Channel> in_process);

  // By target name, e.g. "collector". Error: which setting is missing.
  StatusOr<Peer> Find(std::string_view target) const;

 private:
  Peers() = default;
  std::map<std::string, Peer, std::less<>> peers_;
};

}  // namespace winnow::rpc
