#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "services/dedup/text/unicode.h"
#include "services/platform/base/status.h"

namespace winnow::dedup {

// Hanja headline shorthand to the Hangul it is read as, so that two spellings of one headline meet.
class HanjaTable {
 public:
  // Rows "<hanja> <reading>" (data/hanja.txt). Error: INVALID_ARGUMENT that names the line.
  static StatusOr<HanjaTable> Parse(std::string_view table);

  // How a character is read; null where it is not a hanja of the table.
  const std::u32string* ReadingOf(char32_t point) const {
    // Most need no look: they lie before all hanja, or are Hangul.
    return point < first_ || IsHangulSyllable(point) ? nullptr : Find(point);
  }

 private:
  const std::u32string* Find(char32_t point) const;

  std::unordered_map<char32_t, std::u32string> readings_;
  char32_t first_ = 0x10FFFF;  // the least of them
};

}  // namespace winnow::dedup
