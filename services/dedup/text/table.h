#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "services/platform/base/status.h"

namespace winnow::dedup {

// A row of a rule table: "<key> <value>", by the first space; the value may hold more of them.
struct TableRow {
  size_t line = 0;  // from 1
  std::string key;
  std::string value;
};

// Rows of a table, normalised by NFKC and case folding as the texts they are compared with. Empty
// lines and lines that begin with "# " are passed over. Error: INVALID_ARGUMENT with `name` and
// line.
StatusOr<std::vector<TableRow>> ParseTable(std::string_view text, std::string_view name);

}  // namespace winnow::dedup
