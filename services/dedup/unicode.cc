#include "services/dedup/unicode.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "services/platform/text.h"

namespace winnow::dedup {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

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
  for (const char32_t point : text) AppendUtf8(point, bytes);
  return bytes;
}

bool IsHangulSyllable(char32_t point) { return point >= 0xAC00 && point <= 0xD7A3; }

bool IsLatinLetter(char32_t point) {
  if (point < 0x80) return (point >= 'a' && point <= 'z') || (point >= 'A' && point <= 'Z');
  return point >= 0xC0 && point <= 0x24F && point != 0xD7 && point != 0xF7;
}

bool IsDigit(char32_t point) { return point >= '0' && point <= '9'; }

bool IsSpace(char32_t point) {
  return point == ' ' || (point >= 0x09 && point <= 0x0D) || point == 0x85 || point == 0xA0 ||
         (point >= 0x2000 && point <= 0x200B) || point == 0x2028 || point == 0x2029 ||
         point == 0x202F || point == 0x205F || point == 0x3000;
}

bool IsLetterOrDigit(char32_t point) {
  if (IsHangulSyllable(point)) return true;  // most of them
  if (point < 0x80) return IsLatinLetter(point) || IsDigit(point);
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
