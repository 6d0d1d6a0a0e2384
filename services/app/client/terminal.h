#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace winnow::app {

// Text of others made safe to print: what would steer a terminal becomes a space, and bytes that
// are not UTF-8 become U+FFFD.
std::string Printable(std::string_view text);

// 16985 -> "16,985"
std::string WithCommas(int64_t number);

}  // namespace winnow::app
