#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "services/platform/status.h"

namespace winnow::dedup {

// Hanja headline shorthand to the Hangul it is read as, so that two spellings of one headline meet.
class HanjaTable {
 public:
  // Rows "<hanja> <reading>" (data/hanja.txt). Error: INVALID_ARGUMENT that names the line.
  static StatusOr<HanjaTable> Parse(std::string_view table);

  std::u32string ToHangul(std::u32string_view text) const;

 private:
  std::unordered_map<char32_t, std::u32string> readings_;
  char32_t first_ = 0x10FFFF;  // the least of them
};

}  // namespace winnow::dedup
