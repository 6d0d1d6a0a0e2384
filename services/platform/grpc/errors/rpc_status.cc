#include "services/platform/grpc/errors/rpc_status.h"

#include <google/rpc/error_details.pb.h>

#include "services/platform/grpc/errors/visible_error.h"
#include "services/platform/process/log.h"
#include "winnow/common/v1/error_reason.pb.h"

namespace winnow::rpc {
namespace {

constexpr std::string_view kTypePrefix = "type.googleapis.com/";
constexpr std::string_view kReasonPrefix = "ERROR_REASON_";

// HTTP/2 peers take 8 KiB of trailers by default and fail the call beyond. The message travels
// twice, once percent-encoded (three times its size for Korean), the details once in base64.
constexpr size_t kMaxMessageBytes = 512;
constexpr size_t kMaxViolationBytes = 2800;
constexpr size_t kMaxTextBytes = 400;

template <class Detail>
std::string TypeUrl() {
  return std::string(kTypePrefix) + Detail::descriptor()->full_name();
}

google::rpc::ErrorInfo MakeInfo(Reason reason) {
  google::rpc::ErrorInfo info;
  info.set_domain("winnow");
  const auto value = static_cast<common::v1::ErrorReason>(reason);
  info.set_reason(common::v1::ErrorReason_Name(value).substr(kReasonPrefix.size()));
  return info;
}

std::string Cut(std::string text, size_t limit) {
  if (text.size() <= limit) return text;
  size_t end = limit - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  return text + "...";
}

void AddDetail(const google::protobuf::Message& detail, google::rpc::Status& out) {
  auto* any = out.add_details();
  any->set_type_url(std::string(kTypePrefix) + detail.GetDescriptor()->full_name());
  detail.SerializeToString(any->mutable_value());
}

google::rpc::BadRequest ToBadRequest(const std::vector<Violation>& violations) {
  google::rpc::BadRequest bad_request;
  size_t bytes = 0;
  size_t shown = 0;
  for (const Violation& violation : violations) {
    const std::string field = Cut(violation.field, kMaxTextBytes);
    const std::string description = Cut(violation.description, kMaxTextBytes);
    bytes += field.size() + description.size() + 8;
    if (shown > 0 && bytes > kMaxViolationBytes) break;
    auto* added = bad_request.add_field_violations();
    added->set_field(field);
    added->set_description(description);
    ++shown;
  }
  if (shown < violations.size()) {
    bad_request.add_field_violations()->set_description(
        "and " + std::to_string(violations.size() - shown) +
        " more violations that do not fit here; fix these first, or send smaller batches");
  }
  return bad_request;
}

google::rpc::Status InternalStatus(std::string_view request_id) {
  google::rpc::Status out;
  out.set_code(static_cast<int>(StatusCode::kInternal));
  out.set_message("Internal error: a defect of Winnow. Please report it with request id " +
                  std::string(request_id) + ".");
  google::rpc::ErrorInfo info = MakeInfo(Reason::kInternal);
  (*info.mutable_metadata())["request_id"] = std::string(request_id);
  AddDetail(info, out);
  return out;
}

}  // namespace

bool IsDefect(const Status& status) {
  const Reason reason = ReasonOf(status);
  return reason == Reason::kUnspecified || reason == Reason::kInternal;
}

google::rpc::Status VisibleError(const Status& status, std::string_view request_id) {
  if (status.ok()) return {};
  if (IsDefect(status)) return InternalStatus(request_id);
  google::rpc::Status out;
  out.set_code(static_cast<int>(status.code()));
  out.set_message(Cut(Message(status), kMaxMessageBytes));
  google::rpc::ErrorInfo info = MakeInfo(ReasonOf(status));
  for (const auto& [key, value] : MetadataOf(status)) {
    (*info.mutable_metadata())[key] = Cut(value, kMaxTextBytes);
  }
  AddDetail(info, out);
  if (const auto violations = ViolationsOf(status); !violations.empty()) {
    AddDetail(ToBadRequest(violations), out);
  }
  if (const auto retry_after = RetryAfterOf(status)) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(retry_after->count() / 1000);
    retry.mutable_retry_delay()->set_nanos(
        static_cast<int32_t>(retry_after->count() % 1000 * 1'000'000));
    AddDetail(retry, out);
  }
  return out;
}

Status MakeError(StatusCode code, Reason reason, std::string_view message) {
  Status status(code, std::string(message));
  status.SetPayload(TypeUrl<google::rpc::ErrorInfo>(),
                    absl::Cord(MakeInfo(reason).SerializeAsString()));
  return status;
}

Status Cancelled(std::string_view why) {
  return MakeError(StatusCode::kCancelled, Reason::kCancelled, why);
}

Status ShuttingDown() {
  return Unavailable(Reason::kShuttingDown, "this server is shutting down; call another replica",
                     std::chrono::milliseconds(100));
}

google::rpc::Status ToRpcStatus(const Status& status, std::string_view request_id) {
  if (!status.ok() && IsDefect(status)) {
    log::Error("item failed by a defect",
               {{"request_id", request_id}, {"detail", Message(status)}});
  }
  return VisibleError(status, request_id);
}

Status FromRpcStatus(const google::rpc::Status& rpc_status) {
  if (rpc_status.code() == 0) return OkStatus();
  Status status(static_cast<StatusCode>(rpc_status.code()), rpc_status.message());
  for (const auto& detail : rpc_status.details()) {
    status.SetPayload(detail.type_url(), absl::Cord(detail.value()));
  }
  return status;
}

}  // namespace winnow::rpc
