#include "services/app/import/input/line_reader.h"

#include <cstring>

namespace winnow::app {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\v\f") == std::string_view::npos;
}

}  // namespace

LineReader::LineReader(ByteSource& source) : source_(source), buffer_(kMaxLineBytes + (64 << 10)) {}

// Reads more behind end_; false when there is no more.
bool LineReader::Fill() {
  if (at_end_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    scanned_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  auto count = source_.Read(std::span(buffer_).subspan(end_));
  if (!count.ok()) status_ = count.status();
  at_end_ = !count.ok() || *count == 0;
  if (!at_end_) end_ += *count;
  return !at_end_;
}

std::optional<Line> LineReader::Next() {
  while (true) {
    const char* start = buffer_.data() + scanned_;
    const void* found = end_ > scanned_ ? std::memchr(start, '\n', end_ - scanned_) : nullptr;
    if (found == nullptr) {
      scanned_ = end_;
      if (end_ - begin_ > kMaxLineBytes) {  // forget it, and what is still to come of it
        skipping_ = true;
        begin_ = scanned_ = end_ = 0;
      }
      if (Fill()) continue;
      if (begin_ == end_ && !skipping_) return std::nullopt;
      if (status_.code() == StatusCode::kCancelled) return std::nullopt;  // not read, not refused
    }
    const size_t line_end =
        found == nullptr ? end_
                         : static_cast<size_t>(static_cast<const char*>(found) - buffer_.data());
    std::string_view text(buffer_.data() + begin_, line_end - begin_);
    if (number_ == 0 && text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    const bool too_long = skipping_ || text.size() > kMaxLineBytes;
    begin_ = scanned_ = found == nullptr ? end_ : line_end + 1;
    skipping_ = false;
    ++number_;
    if (too_long) return Line{number_, {}, Line::Problem::kTooLong};
    if (found == nullptr && !status_.ok()) return Line{number_, {}, Line::Problem::kCutOff};
    if (!IsBlank(text)) return Line{number_, text, Line::Problem::kNone};
  }
}

}  // namespace winnow::app
