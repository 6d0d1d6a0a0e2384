#pragma once

#include <string>
#include <string_view>

// Code points as the text rules see them. Texts have gone through NFKC and case folding, so only
// what is left after those needs to be distinguished.
namespace winnow::dedup {

// Bad UTF-8 becomes U+FFFD, one for each maximal bad part.
std::u32string DecodeUtf8(std::string_view text);
std::string EncodeUtf8(std::u32string_view text);
// The code points of NormalizeNfkcCaseFold(text). Quick where there are none but those of most
// Korean and English headlines.
std::u32string DecodeFolded(std::string_view text);

inline bool IsHangulSyllable(char32_t point) { return point >= 0xAC00 && point <= 0xD7A3; }
inline bool IsLatinLetter(char32_t point) {
  if (point < 0x80) return (point >= 'a' && point <= 'z') || (point >= 'A' && point <= 'Z');
  return point >= 0xC0 && point <= 0x24F && point != 0xD7 && point != 0xF7;
}
inline bool IsDigit(char32_t point) { return point >= '0' && point <= '9'; }
bool IsSpace(char32_t point);
// Of those that are neither ASCII nor Hangul.
bool IsOtherLetter(char32_t point);
// What tokens are made of. Everything else separates: punctuation, symbols, emoji, and the
// old-Korean vowel dot that newspapers set as a middle dot.
inline bool IsLetterOrDigit(char32_t point) {
  if (IsHangulSyllable(point)) return true;  // most of them
  return point < 0x80 ? IsLatinLetter(point) || IsDigit(point) : IsOtherLetter(point);
}

}  // namespace winnow::dedup
