#include "services/dedup/text/normalizer.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "services/dedup/text/unicode.h"
#include "services/platform/base/text.h"

namespace winnow::dedup {
namespace {

// Outlets escape twice ("&amp;quot;"), none thrice; what unescapes further was meant so.
constexpr int kUnescapes = 2;

std::string UnescapeFully(std::string_view text) {
  std::string current(text);
  for (int round = 0; round < kUnescapes && current.find('&') != current.npos; ++round) {
    std::string next = UnescapeHtml(current);
    if (next == current) break;
    current = std::move(next);
  }
  return current;
}

bool IsUrlPoint(char32_t point) {
  // Korean particles follow an address without a space, so it ends at the first non-ASCII letter.
  return point > 0x20 && point < 0x7F && point != '<' && point != '>' && point != '"' &&
         point != '\'' && point != ')' && point != ']';
}

void RemoveUrls(std::u32string& text) {
  static constexpr std::array<std::u32string_view, 3> kStarts = {U"http://", U"https://", U"www."};
  if (text.find(U'/') == text.npos && text.find(kStarts.back()) == text.npos) return;
  for (const std::u32string_view start : kStarts) {
    for (size_t at = text.find(start); at != text.npos; at = text.find(start, at)) {
      while (at < text.size() && IsUrlPoint(text[at])) text[at++] = U' ';
    }
  }
}

bool IsMailPoint(char32_t point) {
  return point < 0x80 && (IsLatinLetter(point) || IsDigit(point) || point == '.' || point == '_' ||
                          point == '-' || point == '+' || point == '%');
}

void RemoveMailAddresses(std::u32string& text) {
  for (size_t at = text.find(U'@'); at != text.npos; at = text.find(U'@', at + 1)) {
    size_t begin = at;
    while (begin > 0 && IsMailPoint(text[begin - 1])) --begin;
    size_t end = at + 1;
    while (end < text.size() && IsMailPoint(text[end])) ++end;
    const auto host = std::u32string_view(text).substr(at + 1, end - at - 1);
    if (begin == at || host.find(U'.') == host.npos) continue;
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(begin),
              text.begin() + static_cast<std::ptrdiff_t>(end), U' ');
  }
}

// Letters and digits, hanja as they are read, with single spaces between; at most `most` of them
// all.
std::u32string KeepLetters(std::u32string_view text, const HanjaTable& hanja, size_t most) {
  std::u32string kept;
  kept.reserve(std::min(text.size(), most));
  bool is_apart = false;
  const auto keep = [&](char32_t point) {
    if (!IsLetterOrDigit(point)) {
      is_apart = !kept.empty();
      return;
    }
    if (is_apart) kept.push_back(U' ');
    is_apart = false;
    kept.push_back(point);
  };
  for (const char32_t point : text) {
    if (kept.size() >= most) break;
    const std::u32string* reading = hanja.ReadingOf(point);
    if (reading == nullptr) {
      keep(point);
    } else {
      std::for_each(reading->begin(), reading->end(), keep);
    }
  }
  if (kept.size() > most) kept.resize(most);
  return kept;
}

}  // namespace

std::string Normalizer::Normalize(std::string_view text, size_t most_characters) const {
  std::string plain;
  if (text.find('&') != text.npos) text = plain = UnescapeFully(text);
  if (text.find('<') != text.npos) text = plain = StripHtml(text);
  std::u32string points = DecodeFolded(text);
  RemoveUrls(points);
  RemoveMailAddresses(points);
  points = boilerplate_.Remove(std::move(points));
  return EncodeUtf8(KeepLetters(points, hanja_, most_characters));
}

}  // namespace winnow::dedup
