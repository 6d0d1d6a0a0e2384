#include "services/app/client/terminal.h"

#include <cstddef>

#include "services/platform/base/utf8.h"

namespace winnow::app {
namespace {

// C0 and DEL are one byte; C1 (U+0080 to U+009F) is 0xC2 and one byte up to 0x9F.
size_t ControlLength(std::string_view text, size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x20 || byte == 0x7F) return 1;
  if (byte != 0xC2 || at + 1 >= text.size()) return 0;
  return static_cast<unsigned char>(text[at + 1]) < 0xA0 ? 2 : 0;
}

}  // namespace

std::string Printable(std::string_view text) {
  const std::string valid = ReplaceInvalidUtf8(text);
  std::string out;
  out.reserve(valid.size());
  for (size_t at = 0; at < valid.size();) {
    const size_t control = ControlLength(valid, at);
    out += control > 0 ? ' ' : valid[at];
    at += control > 0 ? control : 1;
  }
  return out;
}

std::string WithCommas(int64_t number) {
  std::string digits = std::to_string(number);
  const size_t first = number < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

}  // namespace winnow::app
