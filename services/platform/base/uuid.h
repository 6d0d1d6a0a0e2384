#pragma once

#include <string>
#include <string_view>

#include "services/platform/base/clock.h"

namespace winnow {

// A UUID version 7 (RFC 9562) in its canonical text form: sorts by `now` in milliseconds, then by a
// per-process counter, so that ids made in order sort in order.
std::string NewUuidV7(Time now);

// Whether `text` is a UUID of any version in canonical form (lower or upper case, 8-4-4-4-12).
bool IsUuid(std::string_view text);

}  // namespace winnow
