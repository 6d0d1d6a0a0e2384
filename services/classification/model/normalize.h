#pragma once

#include <string>
#include <string_view>

namespace winnow::classification {

// Stand-ins, of the private use area, for what was masked.
inline constexpr char32_t kUrlMark = 0xE000;
inline constexpr char32_t kHandleMark = 0xE001;

// A comment as the embedded model reads it: NFKC with case folding and without invisible
// characters; Hangul compatibility jamo stay as typed (NFKC would join the two of "ㅋㅠ" into a
// syllable nobody wrote); URLs and @handles become marks; white space becomes single spaces, one
// at each end; runs of a character are cut to two. What NFKC makes longer than the text's own bytes
// (one U+FDFA becomes 18 characters) is cut there, beyond 1,000: comments that people write never
// are.
void NormalizeComment(std::string_view text, std::u32string& out);

}  // namespace winnow::classification
