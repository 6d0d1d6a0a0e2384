#include "services/platform/base/status.h"

#include <google/rpc/error_details.pb.h>

#include <utility>

#include "services/platform/base/utf8.h"
#include "winnow/common/v1/error_reason.pb.h"

namespace winnow {
namespace {

using common::v1::ErrorReason;

constexpr std::string_view kReasonPrefix = "ERROR_REASON_";
// How many violations the message spells out; the details carry all.
constexpr size_t kShownViolations = 5;

// Payload keys are the type URLs of the google.rpc messages, so that the error exit can hand the
// bytes on as they are.
template <typename Detail>
std::string TypeUrl() {
  return "type.googleapis.com/" + Detail::descriptor()->full_name();
}

template <typename Detail>
void Attach(Status& status, const Detail& detail) {
  status.SetPayload(TypeUrl<Detail>(), absl::Cord(detail.SerializeAsString()));
}

template <typename Detail>
Detail ReadDetail(const Status& status) {
  Detail detail;
  if (status.ok()) return detail;
  const auto payload = status.GetPayload(TypeUrl<Detail>());
  if (payload && !detail.ParseFromString(std::string(*payload))) detail.Clear();
  return detail;
}

google::rpc::ErrorInfo MakeErrorInfo(Reason reason) {
  google::rpc::ErrorInfo info;
  info.set_domain("winnow");
  const std::string& name = common::v1::ErrorReason_Name(static_cast<ErrorReason>(reason));
  info.set_reason(name.substr(kReasonPrefix.size()));
  return info;
}

Status Make(StatusCode code, Reason reason, std::string_view message) {
  Status status(code, ReplaceInvalidUtf8(message));
  Attach(status, MakeErrorInfo(reason));
  return status;
}

Status MakeAboutResource(StatusCode code, Reason reason, std::string_view resource,
                         std::string_view id, std::string_view what) {
  const std::string valid_id = ReplaceInvalidUtf8(id);
  std::string message(resource);
  message.append(" \"").append(valid_id).append("\" ").append(what);
  Status status(code, message);
  google::rpc::ErrorInfo info = MakeErrorInfo(reason);
  (*info.mutable_metadata())["resource"] = std::string(resource);
  (*info.mutable_metadata())["id"] = valid_id;
  Attach(status, info);
  return status;
}

void AttachRetry(Status& status, std::chrono::milliseconds retry_after) {
  const int64_t milliseconds = std::max<int64_t>(0, retry_after.count());
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(milliseconds / 1000);
  retry.mutable_retry_delay()->set_nanos(static_cast<int32_t>(milliseconds % 1000) * 1'000'000);
  Attach(status, retry);
}

std::string Summary(const std::vector<Violation>& violations) {
  std::string text;
  for (size_t i = 0; i < violations.size() && i < kShownViolations; ++i) {
    if (!text.empty()) text += "; ";
    if (!violations[i].field.empty()) text.append(violations[i].field).append(": ");
    text += violations[i].description;
  }
  if (violations.size() > kShownViolations) {
    text += "; and " + std::to_string(violations.size() - kShownViolations) + " more";
  }
  return text;
}

}  // namespace

void Violations::Add(std::string field, std::string description) {
  violations_.push_back({std::move(field), std::move(description)});
}

Status Violations::ToStatus() const {
  return violations_.empty() ? OkStatus() : InvalidArgument(violations_);
}

Status InvalidArgument(std::vector<Violation> violations) {
  Status status = Make(StatusCode::kInvalidArgument, Reason::kInvalidField, Summary(violations));
  google::rpc::BadRequest bad_request;
  for (const Violation& violation : violations) {
    auto* added = bad_request.add_field_violations();
    added->set_field(ReplaceInvalidUtf8(violation.field));
    added->set_description(ReplaceInvalidUtf8(violation.description));
  }
  Attach(status, bad_request);
  return status;
}

Status InvalidField(std::string field, std::string description) {
  return InvalidArgument({{std::move(field), std::move(description)}});
}

Status InvalidPageToken(std::string why) {
  Status status = InvalidField("page_token", std::move(why));
  Attach(status, MakeErrorInfo(Reason::kInvalidPageToken));
  return status;
}

Status NotFound(std::string_view resource, std::string_view id) {
  return MakeAboutResource(StatusCode::kNotFound, Reason::kResourceNotFound, resource, id,
                           "does not exist");
}

Status AlreadyExists(std::string_view resource, std::string_view id, std::string_view what) {
  return MakeAboutResource(StatusCode::kAlreadyExists, Reason::kResourceAlreadyExists, resource, id,
                           what);
}

Status FailedPrecondition(std::string why, Reason reason) {
  return Make(StatusCode::kFailedPrecondition, reason, why);
}

Status Aborted(Reason reason, std::string why) { return Make(StatusCode::kAborted, reason, why); }

Status DeadlineExceeded(std::string why) {
  return Make(StatusCode::kDeadlineExceeded, Reason::kDeadlineTooShort, why);
}

Status Overloaded(std::string what, std::chrono::milliseconds retry_after) {
  Status status = Make(StatusCode::kResourceExhausted, Reason::kOverloaded, what);
  AttachRetry(status, retry_after);
  return status;
}

Status Unavailable(Reason reason, std::string what, std::chrono::milliseconds retry_after) {
  Status status = Make(StatusCode::kUnavailable, reason, what);
  AttachRetry(status, retry_after);
  return status;
}

Status Internal(std::string detail) {
  return Make(StatusCode::kInternal, Reason::kInternal, detail);
}

Reason ReasonOf(const Status& status) {
  const auto info = ReadDetail<google::rpc::ErrorInfo>(status);
  ErrorReason reason = common::v1::ERROR_REASON_UNSPECIFIED;
  if (info.domain() == "winnow") {
    common::v1::ErrorReason_Parse(std::string(kReasonPrefix) + info.reason(), &reason);
  }
  return static_cast<Reason>(reason);
}

std::vector<Violation> ViolationsOf(const Status& status) {
  const auto bad_request = ReadDetail<google::rpc::BadRequest>(status);
  std::vector<Violation> violations;
  for (const auto& item : bad_request.field_violations()) {
    violations.push_back({item.field(), item.description()});
  }
  return violations;
}

std::optional<std::chrono::milliseconds> RetryAfterOf(const Status& status) {
  const auto retry = ReadDetail<google::rpc::RetryInfo>(status);
  if (!retry.has_retry_delay()) return std::nullopt;
  return std::chrono::milliseconds(retry.retry_delay().seconds() * 1000 +
                                   retry.retry_delay().nanos() / 1'000'000);
}

std::vector<std::pair<std::string, std::string>> MetadataOf(const Status& status) {
  const auto info = ReadDetail<google::rpc::ErrorInfo>(status);
  return {info.metadata().begin(), info.metadata().end()};
}

}  // namespace winnow
