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

// "삼성ai" holds the word "ai": scripts part words where no space does.
void ForEachWord(std::string_view normalized, const std::function<void(std::string_view)>& visit) {
  std::string word = "=";
  bool has_letter = false;
  const auto finish = [&] {
    if (has_letter) visit(word);
    word = "=";
    has_letter = false;
  };
  for (const char32_t point : DecodeUtf8(normalized)) {
    if (IsLatinLetter(point) || IsDigit(point)) {
      AppendUtf8(point, word);
      has_letter = has_letter || IsLatinLetter(point);
    } else {
      finish();
    }
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
