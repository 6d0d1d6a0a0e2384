#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <string>

#include "services/app/import/input/byte_source.h"
#include "services/app/import/input/line_reader.h"
#include "services/platform/base/status.h"

namespace winnow::app {

// Texts of a file, one a line, as many at a time as a call of ClassifyTexts takes.
class TextReader {
 public:
  explicit TextReader(ByteSource& source) : lines_(source) {}

  // The next texts; none at the end. INVALID_ARGUMENT names a line that no call takes, and leaves
  // those before it in `texts`.
  Status Next(google::protobuf::RepeatedPtrField<std::string>& texts);

 private:
  LineReader lines_;
  std::string held_;  // did not fit the call before
};

}  // namespace winnow::app
