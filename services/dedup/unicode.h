#pragma once

#include <string>
#include <string_view>

// Code points as the text rules see them. Texts have gone through NFKC and case folding, so only
// what is left after those needs to be told apart.
namespace winnow::dedup {

// Bad UTF-8 becomes U+FFFD, one for each maximal bad part.
std::u32string DecodeUtf8(std::string_view text);
std::string EncodeUtf8(std::u32string_view text);

bool IsHangulSyllable(char32_t point);
bool IsLatinLetter(char32_t point);
bool IsDigit(char32_t point);
bool IsSpace(char32_t point);
// What tokens are made of. Everything else separates: punctuation, symbols, emoji, and the
// old-Korean vowel dot that newspapers set as a middle dot.
bool IsLetterOrDigit(char32_t point);

}  // namespace winnow::dedup
