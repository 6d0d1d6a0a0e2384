#include "services/platform/grpc/server.h"

#include <grpc/health/v1/health.pb.h>
#include <grpcpp/ext/channelz_service_plugin.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "services/platform/grpc/bind_error.h"
#include "services/platform/grpc/cut_connections.h"
#include "services/platform/grpc/grpc_log.h"
#include "services/platform/grpc/limits.h"
#include "services/platform/grpc/tls.h"
#include "services/platform/grpc/unparsed_request.h"
#include "services/platform/listen_address.h"
#include "services/platform/log.h"
#include "services/platform/timestamp.h"

namespace winnow::rpc {
namespace {

using std::chrono::milliseconds;

constexpr int kMaxStreamsPerConnection = 4096;
constexpr int kKeepaliveMs = 60'000;  // finds peers that vanished without a word
constexpr int kKeepaliveTimeoutMs = 20'000;
constexpr int kMinPingIntervalMs = 5'000;  // callers with keepalives of their own are not cut

void InitPlugins() {
  static std::once_flag once;
  std::call_once(once, [] {
    grpc::EnableDefaultHealthCheckService(true);
    // gRPC's health service comes without its description, which reflection is to give.
    google::protobuf::LinkMessageReflection<grpc::health::v1::HealthCheckRequest>();
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::channelz::experimental::InitChannelzService();
  });
}

void SetLimits(grpc::ServerBuilder& builder, const config::v1::Calls& calls) {
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  // Tests leave it out.
  if (calls.transport_memory_bytes() > 0) {
    grpc::ResourceQuota quota("winnow");
    quota.Resize(static_cast<size_t>(calls.transport_memory_bytes()));
    builder.SetResourceQuota(quota);
  }
  // A second process on the port is an error to be told of, not a partner to share calls with.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kMinPingIntervalMs);
}

Status CheckReachable(const config::v1::Config& config, const ListenAddress& address) {
  if (address.IsLoopback() || config.insecure() || !config.tls().cert_file().empty()) {
    return OkStatus();
  }
  return InvalidField("listen", "\"" + address.ToString() +
                                    "\" is reachable from other machines, in plain text: set tls, "
                                    "listen on 127.0.0.1, or say --insecure when a mesh encrypts");
}

StatusOr<milliseconds> ToMilliseconds(const google::protobuf::Duration& duration) {
  WINNOW_ASSIGN_OR_RETURN(const Micros micros, FromDuration(duration));
  return std::chrono::duration_cast<milliseconds>(micros);
}

}  // namespace

Status Server::Check(const config::v1::Config& config) {
  WINNOW_ASSIGN_OR_RETURN(const ListenAddress address,
                          ParseListenAddress(config.listen(), "listen"));
  WINNOW_RETURN_IF_ERROR(CheckReachable(config, address));
  WINNOW_RETURN_IF_ERROR(MakeServerCredentials(config.tls()).status());
  WINNOW_RETURN_IF_ERROR(MakePeerCredentials(config).status());
  std::string taken = ProbeBind(address, "--listen");
  return taken.empty() ? OkStatus() : InvalidField("listen", std::move(taken));
}

StatusOr<std::unique_ptr<Server>> Server::Start(const config::v1::Config& config, Runtime& runtime,
                                                Metrics& metrics, std::span<const Target> targets,
                                                ServerOptions options) {
  RouteGrpcLog();
  InitPlugins();
  std::unique_ptr<Server> server(new Server(runtime, options));
  WINNOW_ASSIGN_OR_RETURN(server->drain_delay_, ToMilliseconds(config.calls().drain_delay()));
  WINNOW_RETURN_IF_ERROR(server->Listen(config, targets));
  auto* health_service = server->server_->GetHealthCheckService();
  if (health_service == nullptr) return Internal("the gRPC server has no health service");
  server->health_ =
      std::make_unique<Health>(*health_service, targets, options.probe_interval, metrics);
  return server;
}

Status Server::Listen(const config::v1::Config& config, std::span<const Target> targets) {
  WINNOW_ASSIGN_OR_RETURN(ListenAddress address, ParseListenAddress(config.listen(), "listen"));
  WINNOW_RETURN_IF_ERROR(CheckReachable(config, address));
  WINNOW_ASSIGN_OR_RETURN(const auto credentials, MakeServerCredentials(config.tls()));
  grpc::ServerBuilder builder;
  SetLimits(builder, config.calls());
  builder.AddListeningPort(address.ToString(), credentials, &port_);
  std::set<std::string> services;
  for (const Target& target : targets) {
    builder.RegisterService(target.grpc_service);
    services.insert(target.service_name);
  }
  builder.experimental().SetInterceptorCreators(UnparsedRequestTellers(std::move(services)));
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port_ == 0) {
    if (server_ != nullptr) server_->Shutdown();
    return InvalidField("listen", BindError(address, "--listen"));
  }
  address.port = port_;
  address_ = address.ToString();
  return OkStatus();
}

std::shared_ptr<grpc::Channel> Server::InProcessChannel() const {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  return server_->InProcessChannel(arguments);
}

void Server::AnnounceEnd(const std::stop_token& hurry) {
  health_->EndServing();
  std::mutex mutex;
  std::condition_variable_any hurried;
  std::unique_lock lock(mutex);
  hurried.wait_for(lock, hurry, drain_delay_, [] { return false; });
}

bool Server::Drain(Deadline deadline) {
  const bool drained = runtime_.Drain(deadline);
  if (!drained) log::Warn("calls were still in flight when the drain timed out");
  return drained;
}

void Server::Shutdown() {
  if (health_) health_->EndServing();
  if (!server_) return;
  if (port_ > 0) CutConnections(port_);
  server_->Shutdown(std::chrono::system_clock::now() + options_.cut_after);
  health_.reset();
  server_.reset();
}

}  // namespace winnow::rpc
