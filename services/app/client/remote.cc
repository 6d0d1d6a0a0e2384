#include "services/app/client/remote.h"

#include <google/rpc/status.pb.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <vector>

#include "services/app/client/exit_code.h"
#include "services/app/client/interrupt.h"
#include "services/app/client/terminal.h"
#include "services/app/client/unary_calls.h"
#include "services/platform/config/config.h"
#include "services/platform/grpc/errors/rpc_status.h"
#include "services/platform/grpc/runtime/limits.h"
#include "services/platform/process/file.h"
#include "services/platform/process/secret_file.h"

namespace winnow::app {
namespace {

constexpr std::chrono::milliseconds kLookEvery{50};
constexpr size_t kMaxPemBytes = size_t{1} << 20;

StatusOr<std::string> ReadPem(const std::string& path, const char* option) {
  if (path.empty()) return std::string();
  auto text = ReadFile(path, kMaxPemBytes);
  if (text.ok()) return text;
  return FailedPrecondition(std::string(option) + ": cannot read " + path + ": " +
                            Message(text.status()));
}

StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(const RemoteOptions& options) {
  if (!options.tls && options.ca_file.empty() && options.cert_file.empty()) {
    return grpc::InsecureChannelCredentials();
  }
  grpc::SslCredentialsOptions ssl;
  WINNOW_ASSIGN_OR_RETURN(ssl.pem_root_certs, ReadPem(options.ca_file, "--ca-file"));
  WINNOW_ASSIGN_OR_RETURN(ssl.pem_cert_chain, ReadPem(options.cert_file, "--cert-file"));
  WINNOW_ASSIGN_OR_RETURN(ssl.pem_private_key, ReadPem(options.key_file, "--key-file"));
  return grpc::SslCredentials(ssl);
}

bool AwaitConnected(grpc::Channel& channel, std::chrono::milliseconds timeout,
                    const Interrupt& interrupt) {
  const auto deadline = std::chrono::system_clock::now() + timeout;
  while (!interrupt.requested()) {
    const auto now = std::chrono::system_clock::now();
    if (channel.WaitForConnected(std::min(deadline, now + kLookEvery))) return true;
    if (now >= deadline) return false;
  }
  return false;
}

}  // namespace

StatusOr<Remote> Remote::Connect(const RemoteOptions& options) {
  Remote remote;
  remote.address_ = options.address;
  remote.timeout_ = std::chrono::milliseconds(std::llround(options.timeout_seconds * 1000));
  if (!options.token_file.empty()) {
    WINNOW_ASSIGN_OR_RETURN(const std::string token,
                            ReadSecretFile(options.token_file, "--token-file"));
    remote.authorization_ = "Bearer " + token;
  }
  WINNOW_ASSIGN_OR_RETURN(const auto credentials, MakeCredentials(options));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(rpc::kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // Commands talk to the address they are given; a proxy of the environment is for web pages.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  Interrupt::EndWithReader();
  const Interrupt& interrupt = Interrupt::Install();
  remote.unary_calls_ = std::make_shared<UnaryCalls>(interrupt);
  remote.channel_ = Intercepted(options.address, credentials, arguments, remote.unary_calls_);
  if (!AwaitConnected(*remote.channel_, remote.timeout_, interrupt)) {
    if (interrupt.requested())
      return Status(StatusCode::kCancelled, "interrupted before a server answered");
    return Unavailable(Reason::kPeerUnavailable,
                       "no Winnow server answers at " + options.address +
                           ": start one (winnow serve), or name another with --address",
                       std::chrono::milliseconds(0));
  }
  return remote;
}

void Remote::PrepareCall(grpc::ClientContext& context) const {
  PrepareStream(context);
  context.set_deadline(std::chrono::system_clock::now() + timeout_);
}

void Remote::PrepareStream(grpc::ClientContext& context) const {
  if (!authorization_.empty()) context.AddMetadata("authorization", authorization_);
}

Status ToStatus(const grpc::Status& status) {
  if (status.ok()) return OkStatus();
  google::rpc::Status details;
  if (!status.error_details().empty() && details.ParseFromString(status.error_details())) {
    return rpc::FromRpcStatus(details);
  }
  const auto code = static_cast<StatusCode>(status.error_code());
  if (code == StatusCode::kUnimplemented) {
    return Status(code, "the server does not know this call: it is older, or runs other targets");
  }
  // A proxy resets the streams of a server that died so. Winnow's own defects carry a reason.
  if (code == StatusCode::kInternal || code == StatusCode::kUnknown) {
    return Status(StatusCode::kUnavailable, "the connection was lost: " + status.error_message());
  }
  return Status(code, status.error_message());
}

int ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kCancelled:
      return kInterrupted;
    case StatusCode::kInvalidArgument:
      return kUsage;
    case StatusCode::kUnavailable:
    case StatusCode::kDeadlineExceeded:
      return kUnreachable;
    default:
      return kFailed;
  }
}

int Fail(const Status& status) {
  const std::vector<Violation> violations = ViolationsOf(status);
  if (violations.empty()) std::cerr << "winnow: " << Printable(Message(status)) << '\n';
  for (const Violation& violation : violations) {
    std::cerr << "winnow: " << Printable(violation.field) << (violation.field.empty() ? "" : ": ")
              << Printable(violation.description) << '\n';
  }
  return ExitCodeOf(status);
}

bool IsTransient(const Status& status) {
  switch (status.code()) {
    case StatusCode::kUnavailable:
    case StatusCode::kResourceExhausted:
    case StatusCode::kAborted:
    case StatusCode::kDeadlineExceeded:
      return true;
    default:
      return false;
  }
}

}  // namespace winnow::app
