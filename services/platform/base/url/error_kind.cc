#include "services/platform/base/url/error_kind.h"

#include <array>

namespace winnow::http {
namespace {

constexpr const char* kPayload = "winnow.http.kind";
constexpr std::array<std::string_view, 12> kNames = {
    "ok",      "bad_url",   "dns",       "refused_address", "connect",     "tls",
    "timeout", "too_large", "redirects", "protocol",        "http_status", "cancelled"};

Status Plain(ErrorKind kind, std::string message) {
  constexpr std::chrono::seconds kRetry{1};
  switch (kind) {
    case ErrorKind::kBadUrl:
      return InvalidField("url", std::move(message));
    case ErrorKind::kRefusedAddress:
    case ErrorKind::kTooLarge:
    case ErrorKind::kRedirects:
    case ErrorKind::kHttpStatus:
      return FailedPrecondition(std::move(message));
    case ErrorKind::kTimeout:
      return DeadlineExceeded(std::move(message));
    case ErrorKind::kCancelled:
      return Status(StatusCode::kCancelled, message);
    default:
      return Unavailable(Reason::kPeerUnavailable, std::move(message), kRetry);
  }
}

}  // namespace

std::string_view NameOf(ErrorKind kind) { return kNames.at(static_cast<size_t>(kind)); }

Status MakeError(ErrorKind kind, std::string message) {
  Status status = Plain(kind, std::move(message));
  status.SetPayload(kPayload, absl::Cord(NameOf(kind).data()));
  return status;
}

ErrorKind KindOf(const Status& status) {
  if (status.ok()) return ErrorKind::kNone;
  const auto payload = status.GetPayload(kPayload);
  if (!payload) return ErrorKind::kNone;
  const std::string name(*payload);
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames.at(i) == name) return static_cast<ErrorKind>(i);
  }
  return ErrorKind::kNone;
}

}  // namespace winnow::http
