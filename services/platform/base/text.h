#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Text rules that are the same for every service. Input is UTF-8; where bytes are not, each maximal
// bad part counts as U+FFFD.
namespace winnow {

bool IsValidUtf8(std::string_view text);

// Number of Unicode code points: what "characters" means in every limit of the API.
size_t CountCharacters(std::string_view text);

// Appends a code point, which is not a surrogate and at most U+10FFFF.
void AppendUtf8(char32_t character, std::string& out);

// HTML character references (named, decimal, hexadecimal) to what they stand for, once.
std::string UnescapeHtml(std::string_view text);

// The text of a field that outlets deliver escaped once or twice ("&quot;", "&amp;quot;"). A second
// layer is removed only where every reference of the first is an ampersand, which is what escaping
// twice produces: "&lt;p&gt; and &amp;lt;" was escaped once and becomes "<p> and &lt;". Not for
// markup, whose references belong to its tags.
std::string UnescapeHtmlLayers(std::string_view text);

// Markup out: tags to a space, comments, script and style with what they hold.
std::string StripHtml(std::string_view text);

// Unicode NFKC with case folding (ICU nfkc_cf): full width, ligatures and case made equal.
std::string NormalizeNfkcCaseFold(std::string_view text);

// Runs of Unicode white space to one space, none at the ends.
std::string CollapseWhitespace(std::string_view text);

// "ko" when at least a quarter of the letters are Hangul, else "en" when most letters are Latin,
// else "und" (BCP 47 undetermined).
std::string GuessLanguage(std::string_view text);

// Whether `text` is [a-z0-9-]{1,64}: what a namespace or category id looks like.
bool IsSlug(std::string_view text);

}  // namespace winnow
