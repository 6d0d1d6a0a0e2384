#include "services/dedup/text/unicode.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "services/platform/base/text.h"

namespace winnow::dedup {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr char32_t kEllipsis = 0x2026;
constexpr std::string_view kMiddleDot = "\xC2\xB7";

struct Range {
  char32_t first;
  char32_t last;
};

// From U+00C0 on, what is neither letter nor digit; ascending.
constexpr std::array<Range, 20> kSeparators = {{
    {0x00D7, 0x00D7},  // multiplication sign
    {0x00F7, 0x00F7},  // division sign
    {0x02B0, 0x036F},  // modifier letters and loose combining marks
    {0x0374, 0x0375},  // Greek numeral signs
    {0x037E, 0x037E},  // Greek question mark
    {0x0387, 0x0387},  // Greek middle dot
    {0x0589, 0x058F},  // Armenian punctuation
    {0x05BE, 0x05C7},  // Hebrew punctuation
    {0x0600, 0x061F},  // Arabic punctuation
    {0x066A, 0x066D},  // Arabic signs
    {0x0964, 0x0965},  // danda
    {0x119E, 0x119E},  // what NFKC makes of the middle dot U+318D
    {0x2000, 0x2BFF},  // punctuation, currency, arrows, operators, box drawing, dingbats
    {0x2E00, 0x2E7F},  // supplemental punctuation
    {0x3000, 0x3004},  // CJK punctuation
    {0x3008, 0x3020},  // CJK brackets
    {0x3030, 0x303F},  // CJK symbols
    {0x30FB, 0x30FB},  // katakana middle dot
    {0xE000, 0xF8FF},  // private use
    {0xFE00, 0xFE6F},  // variation selectors, vertical and small forms
}};

// Length of the sequence that `lead` begins, and the bits it carries; 0 when it begins none.
size_t SequenceLength(unsigned char lead, char32_t& bits) {
  if (lead >= 0xC2 && lead <= 0xDF) {
    bits = lead & 0x1FU;
    return 2;
  }
  if (lead >= 0xE0 && lead <= 0xEF) {
    bits = lead & 0x0FU;
    return 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    bits = lead & 0x07U;
    return 4;
  }
  return 0;
}

// Whether `second` may follow `lead`: no overlong forms, no surrogates, nothing above U+10FFFF.
bool IsSecondByte(unsigned char lead, unsigned char second) {
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  return second >= low && second <= high;
}

// Decodes one code point at `at` and moves on.
char32_t NextPoint(std::string_view text, size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at++]);
  if (lead < 0x80) return lead;
  char32_t point = 0;
  const size_t length = SequenceLength(lead, point);
  if (length == 0) return kReplacement;
  for (size_t i = 1; i < length; ++i) {
    if (at == text.size()) return kReplacement;
    const auto next = static_cast<unsigned char>(text[at]);
    if (i == 1 ? !IsSecondByte(lead, next) : (next & 0xC0) != 0x80) return kReplacement;
    point = point << 6 | (next & 0x3FU);
    ++at;
  }
  return point;
}

// What three bytes spell; 0 where they do not begin and go on as such a sequence does. Overlong
// forms and surrogates come out as what they would be.
char32_t ThreeBytePoint(const char* bytes) {
  const auto a = static_cast<unsigned char>(bytes[0]);
  const auto b = static_cast<unsigned char>(bytes[1]);
  const auto c = static_cast<unsigned char>(bytes[2]);
  if ((a & 0xF0U) != 0xE0 || (b & 0xC0U) != 0x80 || (c & 0xC0U) != 0x80) return 0;
  return char32_t{a & 0x0FU} << 12 | char32_t{b & 0x3FU} << 6 | (c & 0x3FU);
}

// Whether NFKC with case folding leaves it as it is, beside ASCII and its likes: Hangul syllables,
// hanja, quotation marks.
bool IsFoldedAlready(char32_t point) {
  return IsHangulSyllable(point) || (point >= 0x4E00 && point <= 0x9FFF) || point == 0x2018 ||
         point == 0x2019 || point == 0x201C || point == 0x201D;
}

}  // namespace

std::u32string DecodeUtf8(std::string_view text) {
  std::u32string points(text.size(), U'\0');
  size_t count = 0;
  for (size_t at = 0; at < text.size();) points[count++] = NextPoint(text, at);
  points.resize(count);
  return points;
}

std::string EncodeUtf8(std::u32string_view text) {
  std::string bytes;
  bytes.reserve(text.size() * 3);
  for (const char32_t point : text) {
    if (IsHangulSyllable(point)) {
      const char three[] = {static_cast<char>(0xE0 | point >> 12),
                            static_cast<char>(0x80 | (point >> 6 & 0x3F)),
                            static_cast<char>(0x80 | (point & 0x3F))};
      bytes.append(three, sizeof(three));
    } else {
      AppendUtf8(point, bytes);
    }
  }
  return bytes;
}

std::u32string DecodeFolded(std::string_view text) {
  std::u32string points(text.size(), U'\0');
  size_t count = 0;
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    if (first < 0x80) {
      points[count++] = first >= 'A' && first <= 'Z' ? first | 0x20U : first;
      ++at;
      continue;
    }
    if (text.substr(at).starts_with(kMiddleDot)) {
      points[count++] = 0xB7;
      at += kMiddleDot.size();
      continue;
    }
    const char32_t point = text.size() - at < 3 ? 0 : ThreeBytePoint(text.data() + at);
    if (point == kEllipsis) {
      for (int i = 0; i < 3; ++i) points[count++] = U'.';
    } else if (IsFoldedAlready(point)) {
      points[count++] = point;
    } else {
      return DecodeUtf8(NormalizeNfkcCaseFold(text));
    }
    at += 3;
  }
  points.resize(count);
  return points;
}

bool IsSpace(char32_t point) {
  return point == ' ' || (point >= 0x09 && point <= 0x0D) || point == 0x85 || point == 0xA0 ||
         (point >= 0x2000 && point <= 0x200B) || point == 0x2028 || point == 0x2029 ||
         point == 0x202F || point == 0x205F || point == 0x3000;
}

bool IsOtherLetter(char32_t point) {
  if (point < 0xC0) return false;
  if (point >= 0xFFF0 && point <= 0xFFFF) return false;
  if (point >= 0x1F000 && point <= 0x1FAFF) return false;  // emoji and pictographs
  if (point >= 0xE0000) return false;                      // tags, selectors, private use
  const auto after =
      std::upper_bound(kSeparators.begin(), kSeparators.end(), point,
                       [](char32_t value, const Range& range) { return value < range.first; });
  return after == kSeparators.begin() || point > std::prev(after)->last;
}

}  // namespace winnow::dedup
