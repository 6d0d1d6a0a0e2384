#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "services/app/import/input/byte_source.h"
#include "services/platform/base/status.h"

namespace winnow::app {

// One line of an import. Lines of nothing but white space are passed over.
struct Line {
  enum class Problem {
    kNone,
    kTooLong,  // longer than kMaxLineBytes; its text is not kept
    kCutOff,   // the file ends early, within this line
  };
  int64_t number = 0;     // from 1, blank lines counted
  std::string_view text;  // valid until the next Next(); without its line break
  Problem problem = Problem::kNone;
};

// A line larger than any item that the server takes: 20,000 characters written as \uXXXX pairs are
// under 300 kB.
inline constexpr size_t kMaxLineBytes = 4 << 20;

// Splits bytes into lines; holds one line in memory, and never more than kMaxLineBytes of it.
class LineReader {
 public:
  explicit LineReader(ByteSource& source);

  // The next line; absent at the end, or where the source failed: status() says which.
  std::optional<Line> Next();
  const Status& status() const { return status_; }

 private:
  bool Fill();

  ByteSource& source_;
  std::vector<char> buffer_;
  size_t begin_ = 0;    // of the current line within buffer_
  size_t scanned_ = 0;  // no line break before this
  size_t end_ = 0;
  int64_t number_ = 0;
  bool skipping_ = false;  // within a line that is too long
  bool at_end_ = false;
  Status status_;
};

}  // namespace winnow::app
