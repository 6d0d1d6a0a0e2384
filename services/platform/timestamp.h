#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <string>
#include <string_view>

#include "services/platform/clock.h"
#include "services/platform/status.h"

namespace winnow {

google::protobuf::Timestamp ToTimestamp(Time time);

// Truncated to microseconds. Error: INVALID_ARGUMENT with one violation whose field is empty, when
// it is outside years 1 to 9999 or its nanos are out of range.
StatusOr<Time> FromTimestamp(const google::protobuf::Timestamp& timestamp);

google::protobuf::Duration ToDuration(Micros duration);
StatusOr<Micros> FromDuration(const google::protobuf::Duration& duration);

// RFC 3339, UTC, e.g. "2026-02-01T00:00:00Z", with fractions of a second when there are any.
std::string FormatTime(Time time);
// RFC 3339 with any offset; also "2026-02-01 00:00:00" taken as UTC.
StatusOr<Time> ParseTime(std::string_view text);

}  // namespace winnow
