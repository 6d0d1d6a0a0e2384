#include "services/platform/base/version.h"

#include <charconv>

namespace winnow {
namespace {

constexpr size_t kMaxDigits = 6;

// Takes a number off the front of `text`.
std::optional<int> TakeNumber(std::string_view& text) {
  const std::string_view digits =
      text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
  if (digits.empty() || digits.size() > kMaxDigits) return std::nullopt;
  if (digits.size() > 1 && digits.front() == '0') return std::nullopt;
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  text.remove_prefix(digits.size());
  return number;
}

}  // namespace

std::string Version::ToString() const {
  return std::to_string(parts[0]) + "." + std::to_string(parts[1]) + "." + std::to_string(parts[2]);
}

std::optional<Version> ParseVersion(std::string_view text) {
  Version version;
  for (size_t i = 0; i < version.parts.size(); ++i) {
    if (i > 0) {
      if (!text.starts_with('.')) return std::nullopt;
      text.remove_prefix(1);
    }
    const std::optional<int> number = TakeNumber(text);
    if (!number) return std::nullopt;
    version.parts[i] = *number;
  }
  return text.empty() ? std::optional(version) : std::nullopt;
}

// CMake accepts no other form of a project's version; a unit test parses it.
Version BuildVersion() { return ParseVersion(WINNOW_VERSION).value_or(Version{}); }

}  // namespace winnow
