#include "services/dedup/text/tokens.h"

#include "services/dedup/text/unicode.h"

namespace winnow::dedup {
namespace {

// Bytes of the Latin letter or digit that begins there; 0 where none does, within a character too.
// Latin letters have one byte or two.
size_t LatinOrDigitAt(std::string_view text, size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return IsLatinLetter(first) || IsDigit(first) ? 1 : 0;
  if (first < 0xC2 || first > 0xDF || at + 1 == text.size()) return 0;
  const auto second = static_cast<unsigned char>(text[at + 1]);
  if ((second & 0xC0U) != 0x80U) return 0;
  return IsLatinLetter((first & 0x1FU) << 6 | (second & 0x3FU)) ? 2 : 0;
}

}  // namespace

std::string Compact(std::string_view normalized) {
  std::string compact;
  CompactTo(normalized, compact);
  return compact;
}

void CompactTo(std::string_view normalized, std::string& compact) {
  compact.assign(normalized);
  std::erase(compact, ' ');
}

// "삼성ai" holds the word "ai": scripts part words where no space does.
void ForEachWord(std::string_view normalized, FunctionRef<void(std::string_view)> visit) {
  std::string word;
  for (size_t at = 0; at < normalized.size();) {
    const size_t begin = at;
    bool has_letter = false;
    while (at < normalized.size()) {
      const size_t size = LatinOrDigitAt(normalized, at);
      if (size == 0) break;
      has_letter = has_letter || !IsDigit(static_cast<unsigned char>(normalized[at]));
      at += size;
    }
    if (has_letter) visit(word.assign("=").append(normalized, begin, at - begin));
    ++at;  // what ended it is not a part of the next
  }
}

}  // namespace winnow::dedup
