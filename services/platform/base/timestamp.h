#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"

namespace winnow {

// Times of the API: years 1 to 9999.
inline constexpr int64_t kMinSeconds = -62'135'596'800;  // 0001-01-01T00:00:00Z
inline constexpr int64_t kMaxSeconds = 253'402'300'799;  // 9999-12-31T23:59:59Z

// RFC 3339, UTC, e.g. "2026-02-01T00:00:00Z", with fractions of a second when there are any.
std::string FormatTime(Time time);
// RFC 3339 with any offset; also "2026-02-01 00:00:00" taken as UTC.
StatusOr<Time> ParseTime(std::string_view text);

}  // namespace winnow
