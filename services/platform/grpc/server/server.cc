#include "services/platform/grpc/server/server.h"

#include <grpc/health/v1/health.pb.h>
#include <grpcpp/ext/channelz_service_plugin.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "services/platform/base/url/listen_address.h"
#include "services/platform/grpc/peers/tls.h"
#include "services/platform/grpc/port/bind_error.h"
#include "services/platform/grpc/port/frame_guard.h"
#include "services/platform/grpc/port/listen_sockets.h"
#include "services/platform/grpc/runtime/limits.h"
#include "services/platform/grpc/server/grpc_log.h"
#include "services/platform/grpc/server/unparsed_request.h"
#include "services/platform/process/log.h"
#include "services/platform/proto/timestamp.h"

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
  builder.AddChannelArgument(GRPC_ARG_TCP_TX_ZEROCOPY_ENABLED, 0);  // CVE-2024-11407
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

// The process itself, with what is wrong with its port. It never ends serving: other processes may
// be reached, and calls in flight go on.
Target ProcessTarget(const SelfCheck& self_check) {
  Target process;
  process.name = "process";
  process.probes.push_back({"port", [&self_check] { return self_check.Last(); }, false});
  return process;
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
  WINNOW_RETURN_IF_ERROR(server->Listen(config, targets, metrics));
  auto* health_service = server->server_->GetHealthCheckService();
  if (health_service == nullptr) return Internal("the gRPC server has no health service");
  std::vector<Target> watched(targets.begin(), targets.end());
  watched.push_back(ProcessTarget(*server->self_check_));
  server->health_ =
      std::make_unique<Health>(*health_service, watched, options.probe_interval, metrics);
  return server;
}

Server::~Server() { Shutdown(); }

Status Server::Listen(const config::v1::Config& config, std::span<const Target> targets,
                      Metrics& metrics) {
  WINNOW_ASSIGN_OR_RETURN(ListenAddress address, ParseListenAddress(config.listen(), "listen"));
  WINNOW_RETURN_IF_ERROR(CheckReachable(config, address));
  WINNOW_ASSIGN_OR_RETURN(const auto credentials, MakeServerCredentials(config.tls()));
  grpc::ServerBuilder builder;
  SetLimits(builder, config.calls());
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(options_.handshake_timeout.count()));
  using External = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  callers_ = builder.experimental().AddExternalConnectionAcceptor(External::FROM_FD, credentials);
  own_ = builder.experimental().AddExternalConnectionAcceptor(External::FROM_FD,
                                                              grpc::InsecureServerCredentials());
  std::set<std::string> services;
  for (const Target& target : targets) {
    builder.RegisterService(target.grpc_service);
    services.insert(target.service_name);
  }
  builder.experimental().SetInterceptorCreators(UnparsedRequestTellers(std::move(services)));
  ListenSockets listening = OpenListenSockets(address, kKeepaliveTimeoutMs);
  if (listening.sockets.empty()) return InvalidField("listen", BindError(address, "--listen"));
  const SocketAddress reached = SelfCheck::AddressOf(listening);
  port_ = address.port = listening.port;
  address_ = address.ToString();
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return Internal("the gRPC server did not start: the log has the reason");
  const bool plain_text = config.tls().cert_file().empty();
  acceptor_ =
      std::make_unique<Acceptor>(std::move(listening), options_.connections, plain_text, metrics);
  self_check_ = std::make_unique<SelfCheck>(*acceptor_, reached, options_.self_check, metrics);
  cut_connections_ = CountCutConnections(metrics);
  acceptor_->Start([this](int fd, bool own) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = fd;
    (own ? own_ : callers_)->HandleNewConnection(&connection);
  });
  return OkStatus();
}

std::shared_ptr<grpc::Channel> Server::InProcessChannel() const {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  return server_->InProcessChannel(arguments);
}

void Server::AnnounceEnd(const std::stop_token& hurry) {
  self_check_->Stop();
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
  if (self_check_) self_check_->Stop();
  if (health_) health_->EndServing();
  if (!server_) return;
  // gRPC ends a call that arrives while its server shuts down with a bare CANCELLED, which its
  // caller takes for its own doing; a connection that is gone is UNAVAILABLE, to be retried.
  if (acceptor_) {
    acceptor_->Stop();
    acceptor_->CutAll();
  }
  server_->Shutdown(std::chrono::system_clock::now() + options_.cut_after);
  health_.reset();
  server_.reset();
}

}  // namespace winnow::rpc
