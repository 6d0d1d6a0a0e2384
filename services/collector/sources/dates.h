#pragma once

#include <optional>
#include <string_view>

#include "services/platform/base/clock.h"

namespace winnow::collector {

// A date as feeds and vendors write it: RFC 822 and its usual misspellings (no weekday, two-digit
// years, no seconds, full month names, names of zones), ISO 8601 (date alone, no seconds, no zone,
// fractions, "+0900"), and "2024.07.20 08:21". Without a zone it is `zone_minutes` east of UTC.
// Nothing for what is not a date or outside years 1970 to 9999.
std::optional<Time> ParseDate(std::string_view text, int zone_minutes = 0);

}  // namespace winnow::collector
