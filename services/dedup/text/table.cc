#include "services/dedup/text/table.h"

#include "services/platform/base/text.h"

namespace winnow::dedup {

StatusOr<std::vector<TableRow>> ParseTable(std::string_view text, std::string_view name) {
  std::vector<TableRow> rows;
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() || line == "#" || line.starts_with("# ")) continue;
    const size_t space = line.find(' ');
    if (space == 0 || space == line.npos || space + 1 == line.size()) {
      return InvalidField(std::string(name) + " line " + std::to_string(number),
                          "is not '<key> <value>' with one space between: correct the line");
    }
    rows.push_back({number, NormalizeNfkcCaseFold(line.substr(0, space)),
                    NormalizeNfkcCaseFold(line.substr(space + 1))});
  }
  return rows;
}

}  // namespace winnow::dedup
