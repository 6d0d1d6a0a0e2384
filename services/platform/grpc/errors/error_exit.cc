#include "services/platform/grpc/errors/error_exit.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <string>
#include <vector>

#include "services/platform/grpc/errors/rpc_status.h"
#include "services/platform/grpc/errors/visible_error.h"

namespace winnow::rpc {
namespace {

constexpr std::chrono::milliseconds kPeerRetryAfter{500};

std::string AboutPeer(std::string_view peer, const grpc::Status& status) {
  return std::string(peer) + ": " + status.error_message();
}

// A token that is being rotated, a mesh's rule, an instance of an older version: it ends when an
// operator fixes it, and until then callers wait as for an unavailable peer.
Status RefusedByPeer(std::string_view peer) {
  return Unavailable(Reason::kPeerUnavailable, std::string(peer) + " refuses our calls",
                     kPeerRetryAfter);
}

// What gRPC makes of a stream that a proxy resets because the server behind it died. Other answers
// of proxies, such as a status of HTTP, may be for good.
bool IsReset(const grpc::Status& status) {
  for (const char* text : {"RST_STREAM", "Stream removed", "GOAWAY", "Connection reset"}) {
    if (status.error_message().find(text) != std::string::npos) return true;
  }
  return false;
}

// Made by the transport, or by a server that is not ours.
Status FromForeignStatus(const grpc::Status& status, std::string_view peer) {
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      return Unavailable(Reason::kPeerUnavailable, std::string(peer) + " cannot be reached",
                         kPeerRetryAfter);
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNIMPLEMENTED:
      return RefusedByPeer(peer);
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return DeadlineExceeded(std::string(peer) + " did not answer in time");
    case grpc::StatusCode::CANCELLED:
      // What gRPC makes of calls that it meets on their way when a server shuts down. Where it is
      // this side that cancelled the call, the reason is known.
      return Unavailable(Reason::kPeerUnavailable, std::string(peer) + " gave the call up",
                         kPeerRetryAfter);
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNKNOWN:
      if (IsReset(status)) {
        return Unavailable(Reason::kPeerUnavailable,
                           "the connection to " + std::string(peer) + " was lost", kPeerRetryAfter);
      }
      [[fallthrough]];
    default:
      return Internal(AboutPeer(peer, status) + " (code " + std::to_string(status.error_code()) +
                      ")");
  }
}

}  // namespace

Status NameTokenField(const Status& status, std::string_view method) {
  if (status.ok() || ReasonOf(status) != Reason::kInvalidPageToken) return status;
  const std::vector<Violation> violations = ViolationsOf(status);
  std::string name(method);
  std::replace(name.begin(), name.end(), '/', '.');
  const auto* found = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
  if (found == nullptr || violations.size() != 1) return status;
  for (const char* field : {"page_token", "resume_token", "token"}) {
    if (found->input_type()->FindFieldByName(field) == nullptr) continue;
    Status named = InvalidField(field, violations.front().description);
    status.ForEachPayload([&](auto type, const auto& payload) {
      if (type.find("BadRequest") == type.npos) named.SetPayload(type, payload);
    });
    return named;
  }
  return status;
}

grpc::Status ToGrpcStatus(const Status& status, std::string_view request_id) {
  if (status.ok()) return grpc::Status::OK;
  const google::rpc::Status visible = VisibleError(status, request_id);
  return {static_cast<grpc::StatusCode>(visible.code()), visible.message(),
          visible.SerializeAsString()};
}

Status FromGrpcStatus(const grpc::Status& status, std::string_view peer) {
  if (status.ok()) return OkStatus();
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) details.Clear();
  const Status ours = FromRpcStatus(details);
  switch (ReasonOf(ours)) {
    case Reason::kUnspecified:
      return FromForeignStatus(status, peer);
    case Reason::kUnauthenticated:
      return RefusedByPeer(peer);
    case Reason::kInternal:
      return Internal(AboutPeer(peer, status));
    default:
      return ours;
  }
}

}  // namespace winnow::rpc
