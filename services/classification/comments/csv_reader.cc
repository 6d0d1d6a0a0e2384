#include "services/classification/comments/csv_reader.h"

#include <algorithm>

namespace winnow::classification {

std::string CsvReader::ReadField() {
  if (at_ >= text_.size() || text_[at_] != '"') {
    const size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    std::string field(text_.substr(at_, end - at_));
    at_ = end;
    return field;
  }
  std::string field;
  for (++at_; at_ < text_.size(); ++at_) {
    if (text_[at_] != '"') {
      field += text_[at_];
    } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
      field += '"';
      ++at_;
    } else {
      ++at_;
      return field;
    }
  }
  ok_ = false;
  return field;
}

bool CsvReader::Next(std::vector<std::string>& row) {
  row.clear();
  if (at_ >= text_.size()) return false;
  for (;;) {
    row.push_back(ReadField());
    // Whatever stands between a closing quote and the comma belongs to no field.
    at_ = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    if (at_ >= text_.size()) return ok_;
    const char c = text_[at_++];
    if (c == ',') continue;
    if (c == '\r' && at_ < text_.size() && text_[at_] == '\n') ++at_;
    return ok_;
  }
}

}  // namespace winnow::classification
