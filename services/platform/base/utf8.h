#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace winnow {

// `text` with each maximal bad part replaced by U+FFFD: what protobuf strings and JSON may carry.
std::string ReplaceInvalidUtf8(std::string_view text);

// The beginning of a valid `text`, at most `bytes` long, that ends with a whole character.
std::string_view CutUtf8(std::string_view text, size_t bytes);

}  // namespace winnow
