#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace winnow::classification {

// Rows of CSV (RFC 4180): quoted fields may hold commas, line breaks and doubled quotes.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}
  // The next row; false at the end.
  bool Next(std::vector<std::string>& row);
  // False when the text ended within quotes.
  bool ok() const { return ok_; }

 private:
  std::string ReadField();

  std::string_view text_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace winnow::classification
