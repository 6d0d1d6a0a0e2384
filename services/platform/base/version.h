#pragma once

#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace winnow {

// A release: major, minor and patch, as in "0.2.0".
struct Version {
  std::array<int, 3> parts{};

  std::string ToString() const;
  friend auto operator<=>(const Version&, const Version&) = default;
};

// Nothing unless `text` is three numbers below 1,000,000 without leading zeros.
std::optional<Version> ParseVersion(std::string_view text);

// That of this binary: the project's version in CMakeLists.txt.
Version BuildVersion();

}  // namespace winnow
