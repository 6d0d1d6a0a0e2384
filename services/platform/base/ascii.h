#pragma once

#include <algorithm>
#include <string>
#include <string_view>

// ASCII characters alone, as protocols, addresses, identifiers and markup compare them.
namespace winnow {

constexpr bool IsAsciiDigit(char c) { return c >= '0' && c <= '9'; }
constexpr char ToLowerAscii(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}
constexpr char ToUpperAscii(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c & ~0x20) : c;
}
constexpr bool IsAsciiLetter(char c) { return ToLowerAscii(c) >= 'a' && ToLowerAscii(c) <= 'z'; }
constexpr bool IsAsciiAlnum(char c) { return IsAsciiLetter(c) || IsAsciiDigit(c); }
// [a-z0-9]
constexpr bool IsAsciiLowerAlnum(char c) { return (c >= 'a' && c <= 'z') || IsAsciiDigit(c); }
constexpr bool IsAsciiSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Of a hexadecimal digit of either case; -1 for anything else.
constexpr int HexValue(char c) {
  if (IsAsciiDigit(c)) return c - '0';
  const char lower = ToLowerAscii(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

inline std::string LowerAscii(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), ToLowerAscii);
  return out;
}

// Without the white space and control characters at its ends.
constexpr std::string_view TrimAscii(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

// Whether `text` begins with `lower_prefix`, which is in lower case, whatever its own case.
inline bool StartsWithAnyCase(std::string_view text, std::string_view lower_prefix) {
  return text.size() >= lower_prefix.size() &&
         std::equal(lower_prefix.begin(), lower_prefix.end(), text.begin(),
                    [](char expected, char c) { return expected == ToLowerAscii(c); });
}

}  // namespace winnow
