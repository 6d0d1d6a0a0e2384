#include "tests/support/grpc/echo_server.h"

#include <grpcpp/create_channel.h>

#include <sstream>
#include <stdexcept>
#include <utility>

namespace winnow::test {

EchoServer::EchoServer(EchoOptions options) : options_(std::move(options)) {
  config::v1::Config& config = options_.config;
  if (config.listen().empty()) config.set_listen("127.0.0.1:0");
  runtime_ = std::make_unique<rpc::Runtime>(options_.runtime, metrics_);
  target_ = MakeEchoTarget(*runtime_, options_.handlers);
  target_.probes = options_.probes;
  auto server = rpc::Server::Start(config, *runtime_, metrics_, {&target_, 1}, options_.server);
  if (!server.ok()) throw std::runtime_error(Message(server.status()));
  server_ = *std::move(server);
  in_process_ = server_->InProcessChannel();
  stub_ = echo::EchoService::NewStub(in_process_);
}

std::shared_ptr<grpc::Channel> EchoServer::NewTcpChannel() const {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(server_->address(), grpc::InsecureChannelCredentials(),
                                   arguments);
}

double EchoServer::Sample(const std::string& series) const {
  std::istringstream lines(metrics_.Render());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(series + " ")) return std::stod(line.substr(series.size() + 1));
  }
  return -1;
}

std::unique_ptr<grpc::ClientContext> ContextOf(std::chrono::milliseconds timeout) {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + timeout);
  // gRPC 1.51 now and then takes a connection that is being made for one that failed.
  context->set_wait_for_ready(true);
  return context;
}

}  // namespace winnow::test
