#include "services/platform/events/core/consumer.h"

namespace winnow::events {
namespace {

const google::protobuf::OneofDescriptor* PayloadOneof() {
  return Envelope::descriptor()->FindOneofByName("payload");
}

}  // namespace

std::string EventName(const Envelope& envelope) {
  const auto* field = envelope.GetReflection()->GetOneofFieldDescriptor(envelope, PayloadOneof());
  return field == nullptr ? "" : field->message_type()->full_name();
}

bool IsKnownEvent(std::string_view event) {
  const auto* payload = PayloadOneof();
  for (int i = 0; i < payload->field_count(); ++i) {
    if (payload->field(i)->message_type()->full_name() == event) return true;
  }
  return false;
}

Verdict VerdictOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return Verdict::kDone;
    case StatusCode::kUnavailable:
    case StatusCode::kResourceExhausted:
    case StatusCode::kCancelled:  // a stop, here or there: the event itself was not judged
      return Verdict::kRetryLater;
    case StatusCode::kDeadlineExceeded:
      return Verdict::kTimedOut;
    // A defect or a refusal may be fixed before the tries run out; a bad payload is not.
    case StatusCode::kAborted:
    case StatusCode::kInternal:
    case StatusCode::kUnknown:
    case StatusCode::kUnimplemented:
    case StatusCode::kPermissionDenied:
    case StatusCode::kUnauthenticated:
      return Verdict::kRetry;
    default:
      return Verdict::kDead;
  }
}

}  // namespace winnow::events
