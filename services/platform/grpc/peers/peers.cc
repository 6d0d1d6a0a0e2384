#include "services/platform/grpc/peers/peers.h"

#include <grpcpp/create_channel.h>

#include <array>
#include <utility>

#include "services/platform/grpc/peers/tls.h"
#include "services/platform/grpc/runtime/limits.h"

namespace winnow::rpc {
namespace {

// A peer that hangs loses the calls that wait for it after 9 s; others go to its other addresses.
constexpr int kKeepaliveMs = 6'000;
constexpr int kKeepaliveTimeoutMs = 3'000;
constexpr int kMaxReconnectMs = 2'000;  // gRPC's own is two minutes

grpc::ChannelArguments PeerArguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetLoadBalancingPolicyName("round_robin");  // over all addresses of a name
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectMs);
  // Peers are at the addresses they are given; a proxy of the environment is for web pages.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return arguments;
}

}  // namespace

void Peer::Prepare(grpc::ClientContext& context, const CallContext& call) const {
  const auto left = call.deadline - std::chrono::steady_clock::now();
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::duration_cast<std::chrono::system_clock::duration>(left));
  if (!call.request_id.empty()) context.AddMetadata("x-request-id", call.request_id);
  if (!call.trace.trace_id.empty()) {
    context.AddMetadata("traceparent", ChildOf(call.trace).ToTraceparent());
  }
  if (!authorization_.empty()) context.AddMetadata("authorization", authorization_);
}

StatusOr<std::unique_ptr<Peers>> Peers::Make(const config::v1::Config& config,
                                             const Runtime& runtime, std::span<const Target> local,
                                             std::shared_ptr<grpc::Channel> in_process) {
  std::unique_ptr<Peers> peers(new Peers);
  for (const Target& target : local) {
    peers->peers_.emplace(target.name, Peer(in_process, runtime.auth().in_process_header()));
  }
  const std::array<std::pair<std::string_view, std::string_view>, 3> addresses = {
      {{"collector", config.peers().collector()},
       {"dedup", config.peers().dedup()},
       {"newsfeed", config.peers().newsfeed()}}};
  WINNOW_ASSIGN_OR_RETURN(const auto credentials, MakePeerCredentials(config));
  for (const auto& [name, address] : addresses) {
    if (address.empty() || peers->peers_.contains(name)) continue;
    auto channel = grpc::CreateCustomChannel(std::string(address), credentials, PeerArguments());
    peers->peers_.emplace(name, Peer(std::move(channel), runtime.auth().bearer_header()));
  }
  return peers;
}

StatusOr<Peer> Peers::Find(std::string_view target) const {
  const auto found = peers_.find(target);
  if (found != peers_.end()) return found->second;
  return InvalidField("peers." + std::string(target),
                      "is needed: the target runs in another process; set its HOST:PORT");
}

}  // namespace winnow::rpc
