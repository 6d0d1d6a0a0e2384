#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"

// Times and durations as messages.
namespace winnow {

google::protobuf::Timestamp ToTimestamp(Time time);

// Truncated to microseconds. Error: INVALID_ARGUMENT with one violation whose field is empty, when
// it is outside years 1 to 9999 or its nanos are out of range.
StatusOr<Time> FromTimestamp(const google::protobuf::Timestamp& timestamp);

google::protobuf::Duration ToDuration(Micros duration);
StatusOr<Micros> FromDuration(const google::protobuf::Duration& duration);

}  // namespace winnow
