#include "services/platform/grpc/port/self_check.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "services/platform/process/fd.h"
#include "services/platform/process/log.h"

namespace winnow::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kMethod = "/grpc.health.v1.Health/Check";
constexpr milliseconds kRetryAfter{1'000};

Status PortError(const std::string& what) {
  return Unavailable(Reason::kPeerUnavailable, "the gRPC port does not answer: " + what,
                     kRetryAfter);
}

Status ErrnoError(const char* call, int error) {
  return PortError(std::string(call) + ": " + std::strerror(error));
}

// Of this process or machine, and no sign of a dead port.
bool IsLocalShortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM ||
         error == EADDRNOTAVAIL || error == EADDRINUSE;
}

// The errno of connecting within `timeout`; 0 when it is connected.
int Connect(int fd, const SocketAddress& address, milliseconds timeout) {
  if (connect(fd, address.get(), address.size()) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd waited = {.fd = fd, .events = POLLOUT, .revents = 0};
  if (poll(&waited, 1, static_cast<int>(timeout.count())) != 1) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

// A health check by a connected descriptor, which is taken over.
grpc::Status Call(Fd connection, milliseconds timeout) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_CHANNELZ, 0);
  const auto channel =
      grpc::CreateCustomInsecureChannelFromFd("self-check", connection.Release(), arguments);
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + timeout);
  grpc::CompletionQueue queue;
  grpc::ByteBuffer response;
  const grpc::Slice empty;
  const grpc::ByteBuffer request(&empty, 1);
  const auto call = stub.PrepareUnaryCall(&context, kMethod, request, &queue);
  call->StartCall();
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) continue;
  return status;
}

// Made by the transport, not by a server.
bool IsNoAnswer(grpc::StatusCode code) {
  return code == grpc::UNAVAILABLE || code == grpc::DEADLINE_EXCEEDED || code == grpc::CANCELLED ||
         code == grpc::INTERNAL || code == grpc::UNKNOWN;
}

}  // namespace

SelfCheck::SelfCheck(Acceptor& acceptor, SocketAddress address, SelfCheckOptions options,
                     Metrics& metrics)
    : acceptor_(acceptor),
      address_(address),
      options_(options),
      up_(metrics.GetGauge("winnow_port_check_up",
                           "1 when the process's last call to its own gRPC port was answered.")),
      checks_(metrics.GetCounter("winnow_port_checks_total",
                                 "Calls of the process to its own gRPC port.")),
      failed_(metrics.GetCounter("winnow_port_check_failures_total",
                                 "Calls of the process to its own gRPC port that failed.")),
      last_(OkStatus()) {
  up_.Set(1);
}

SocketAddress SelfCheck::AddressOf(const ListenSockets& listening) {
  SocketAddress address = SocketAddress::OfSocket(listening.sockets.front().get());
  if (!address.IsWildcard()) return address;
  sockaddr_in loopback{};
  loopback.sin_family = AF_INET;
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address = SocketAddress(reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback);
  address.set_port(listening.port);
  return address;
}

void SelfCheck::Start(std::function<void()> on_dead) {
  on_dead_ = std::move(on_dead);
  thread_.Start([this] {
    Check();
    return options_.interval;
  });
}

Status SelfCheck::Last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

void SelfCheck::Check() {
  Status status = OkStatus();
  const Outcome outcome = CheckOnce(status);
  acceptor_.ExpectOwn(std::nullopt);
  checks_.Increment();
  up_.Set(status.ok() ? 1 : 0);
  if (outcome == Outcome::kAnswered) failures_ = 0;
  {
    const std::lock_guard lock(mutex_);
    last_ = std::move(status);
  }
  if (outcome == Outcome::kFailed) CountFailure();
}

SelfCheck::Outcome SelfCheck::CheckOnce(Status& status) {
  Fd connection = Fd::AboveStandardStreams(
      socket(address_.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // From the same address, at a port that the kernel chooses now: the accept loop is to know it.
  SocketAddress source = address_;
  source.set_port(0);
  if (!connection.valid() || bind(connection.get(), source.get(), source.size()) != 0) {
    const int error = errno;
    status = ErrnoError("no socket for the check", error);
    return IsLocalShortage(error) ? Outcome::kUnknown : Outcome::kFailed;
  }
  acceptor_.ExpectOwn(SocketAddress::OfSocket(connection.get()).ToString());
  if (const int error = Connect(connection.get(), address_, options_.timeout); error != 0) {
    status = ErrnoError("connect", error);
    return IsLocalShortage(error) || acceptor_.exhausted() ? Outcome::kUnknown : Outcome::kFailed;
  }
  const grpc::Status answer = Call(std::move(connection), options_.timeout);
  if (!IsNoAnswer(answer.error_code())) return Outcome::kAnswered;
  status = PortError("the connection was made, the health check failed with code " +
                     std::to_string(answer.error_code()));
  return acceptor_.exhausted() ? Outcome::kUnknown : Outcome::kFailed;
}

void SelfCheck::CountFailure() {
  failed_.Increment();
  const auto now = steady_clock::now();
  if (failures_++ == 0) first_failure_ = now;
  if (dead_ || failures_ < options_.dead_after_failures) return;
  if (now - first_failure_ < options_.dead_after) return;
  dead_ = true;
  log::Error(
      "the gRPC port is dead",
      {{"address", address_.ToString()}, {"failed_checks", failures_}, {"error", Message(Last())}});
  on_dead_();
}

}  // namespace winnow::rpc
