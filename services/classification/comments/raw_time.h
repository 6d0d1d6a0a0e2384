#pragma once

#include <optional>
#include <string_view>

#include "services/platform/base/clock.h"

namespace winnow::classification {

// RFC 3339 as YouTube writes it ("2024-05-01T12:00:00Z", fractions and offsets too), without an
// offset UTC, or seconds since 1970; nothing for anything else ("2 years ago").
std::optional<Time> ParseRawTime(std::string_view text);

}  // namespace winnow::classification
