#pragma once

#include <algorithm>
#include <string_view>

// Case of ASCII letters alone, as protocols, addresses and markup compare it.
namespace winnow {

constexpr char ToLowerAscii(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

// Whether `text` begins with `lower_prefix`, which is in lower case, whatever its own case.
inline bool StartsWithAnyCase(std::string_view text, std::string_view lower_prefix) {
  return text.size() >= lower_prefix.size() &&
         std::equal(lower_prefix.begin(), lower_prefix.end(), text.begin(),
                    [](char expected, char c) { return expected == ToLowerAscii(c); });
}

}  // namespace winnow
