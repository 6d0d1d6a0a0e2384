#include "services/dedup/text/hanja_table.h"

#include <algorithm>
#include <vector>

#include "services/dedup/text/table.h"
#include "services/dedup/text/unicode.h"

namespace winnow::dedup {

StatusOr<HanjaTable> HanjaTable::Parse(std::string_view table) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<TableRow> rows, ParseTable(table, "hanja.txt"));
  HanjaTable hanja;
  for (const TableRow& row : rows) {
    const std::u32string key = DecodeUtf8(row.key);
    std::u32string reading = DecodeUtf8(row.value);
    const bool is_hangul = std::all_of(reading.begin(), reading.end(), IsHangulSyllable);
    if (key.size() != 1 || IsHangulSyllable(key[0]) || !is_hangul) {
      return InvalidField("hanja.txt line " + std::to_string(row.line),
                          "is not one hanja and its reading in Hangul syllables");
    }
    hanja.first_ = std::min(hanja.first_, key[0]);
    if (!hanja.readings_.emplace(key[0], std::move(reading)).second) {
      return InvalidField("hanja.txt line " + std::to_string(row.line),
                          "repeats a hanja: keep one reading for each");
    }
  }
  return hanja;
}

const std::u32string* HanjaTable::Find(char32_t point) const {
  const auto at = readings_.find(point);
  return at == readings_.end() ? nullptr : &at->second;
}

}  // namespace winnow::dedup
