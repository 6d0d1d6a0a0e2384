#include "services/platform/base/utf8.h"

#include <unicode/utf8.h>

#include "services/platform/base/text.h"

namespace winnow {

std::string ReplaceInvalidUtf8(std::string_view text) {
  if (IsValidUtf8(text)) return std::string(text);
  std::string out;
  out.reserve(text.size() + 8);
  const char* bytes = text.data();
  const auto size = static_cast<int64_t>(text.size());
  for (int64_t next = 0; next < size;) {
    const int64_t begin = next;
    UChar32 character = 0;
    U8_NEXT(bytes, next, size, character);
    if (character < 0) {
      out += "\xEF\xBF\xBD";
    } else {
      out.append(text.substr(static_cast<size_t>(begin), static_cast<size_t>(next - begin)));
    }
  }
  return out;
}

std::string_view CutUtf8(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

}  // namespace winnow
