#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace winnow {

// XXH3, 64 and 128 bits: fast and stable over processes, versions and machines; no defence against
// an adversary that makes collisions. `seed` 0 is the unseeded hash.
uint64_t Hash64(std::string_view bytes, uint64_t seed = 0);

struct Hash128Value {
  uint64_t high = 0;
  uint64_t low = 0;
  friend bool operator==(const Hash128Value&, const Hash128Value&) = default;
  friend auto operator<=>(const Hash128Value&, const Hash128Value&) = default;
};
Hash128Value Hash128(std::string_view bytes);

// Lower-case hex, 2 characters a byte.
std::string Hex(std::string_view bytes);

}  // namespace winnow
