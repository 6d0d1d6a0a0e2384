#pragma once

#include <string>
#include <string_view>

namespace winnow {

// `text` with each maximal bad part replaced by U+FFFD: what protobuf strings and JSON may carry.
std::string ReplaceInvalidUtf8(std::string_view text);

}  // namespace winnow
