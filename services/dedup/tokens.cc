#include "services/dedup/tokens.h"

#include <algorithm>
#include <vector>

#include "services/dedup/unicode.h"

namespace winnow::dedup {
namespace {

void ForEachGram(std::string_view normalized, const std::function<void(std::string_view)>& visit) {
  const std::string compact = Compact(normalized);
  std::vector<size_t> starts;
  for (size_t i = 0; i < compact.size(); ++i) {
    if ((static_cast<unsigned char>(compact[i]) & 0xC0U) != 0x80U) starts.push_back(i);
  }
  if (starts.empty()) return;
  if (starts.size() < kGramLength) return visit(compact);
  starts.push_back(compact.size());
  for (size_t i = 0; i + kGramLength < starts.size(); ++i) {
    visit(std::string_view(compact).substr(starts[i], starts[i + kGramLength] - starts[i]));
  }
}

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

// "삼성ai" holds the word "ai": scripts part words where no space does.
void ForEachWord(std::string_view normalized, const std::function<void(std::string_view)>& visit) {
  std::string word = "=";
  bool has_letter = false;
  const auto finish = [&] {
    if (has_letter) visit(word);
    word = "=";
    has_letter = false;
  };
  for (size_t at = 0; at < normalized.size();) {
    const size_t size = LatinOrDigitAt(normalized, at);
    if (size > 0) {
      has_letter = has_letter || !IsDigit(static_cast<unsigned char>(normalized[at]));
      word.append(normalized, at, size);
    } else {
      finish();
    }
    at += std::max<size_t>(1, size);
  }
  finish();
}

}  // namespace

std::string Compact(std::string_view normalized) {
  std::string compact(normalized);
  std::erase(compact, ' ');
  return compact;
}

void ForEachToken(std::string_view normalized, const std::function<void(std::string_view)>& visit) {
  ForEachGram(normalized, visit);
  ForEachWord(normalized, visit);
}

}  // namespace winnow::dedup
