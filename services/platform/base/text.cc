#include "services/platform/base/text.h"

#include <simdjson.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "services/platform/base/ascii.h"
#include "services/platform/base/utf8.h"

namespace winnow {
namespace {

unsigned char ByteAt(std::string_view text, size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

// Of the White_Space characters beyond ASCII, by their first byte.
size_t WideWhitespaceSize(std::string_view text, size_t i) {
  const unsigned char second = ByteAt(text, i + 1);
  const unsigned char third = ByteAt(text, i + 2);
  switch (ByteAt(text, i) << 8 | second) {
    case 0xC285:  // next line
    case 0xC2A0:  // no-break space
      return 2;
    case 0xE19A:
      return third == 0x80 ? 3 : 0;  // ogham space
    case 0xE280:                     // en quad to hair space, separators, narrow no-break space
      return (third >= 0x80 && third <= 0x8A) || third == 0xA8 || third == 0xA9 || third == 0xAF
                 ? 3
                 : 0;
    case 0xE281:
      return third == 0x9F ? 3 : 0;  // medium mathematical space
    case 0xE380:
      return third == 0x80 ? 3 : 0;  // ideographic space
    default:
      return 0;
  }
}

// Bytes of the Unicode White_Space character at `i` of a valid text, 0 if there is none.
inline size_t WhitespaceSize(std::string_view text, size_t i) {
  const auto first = static_cast<unsigned char>(text[i]);
  if (first < 0x80) return first == ' ' || (first >= '\t' && first <= '\r') ? 1 : 0;
  // Hangul begins with EA to ED, and what continues a character with 80 to BF: both are most.
  return first < 0xC2 || first > 0xE3 ? 0 : WideWhitespaceSize(text, i);
}

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// ICU keeps one for the process; looking it up is not free.
const icu::Normalizer2& CaseFoldNormalizer() {
  static const icu::Normalizer2& normalizer = []() -> const icu::Normalizer2& {
    UErrorCode error = U_ZERO_ERROR;
    const icu::Normalizer2* found = icu::Normalizer2::getNFKCCasefoldInstance(error);
    if (found == nullptr) throw std::runtime_error(u_errorName(error));  // ICU's data are broken
    return *found;
  }();
  return normalizer;
}

struct LetterCounts {
  size_t hangul = 0;
  size_t latin = 0;
  size_t other = 0;
};

void CountLetter(UChar32 character, LetterCounts& counts) {
  if (character < 0x80) {
    const bool letter = (character | 0x20) >= 'a' && (character | 0x20) <= 'z';
    counts.latin += letter ? 1 : 0;
    return;
  }
  if (character >= 0xAC00 && character <= 0xD7A3) {  // nearly all of Korean text
    ++counts.hangul;
    return;
  }
  if (!u_isalpha(character)) return;
  UErrorCode error = U_ZERO_ERROR;
  switch (uscript_getScript(character, &error)) {
    case USCRIPT_HANGUL:
      ++counts.hangul;
      return;
    case USCRIPT_LATIN:
      ++counts.latin;
      return;
    default:
      ++counts.other;
      return;
  }
}

}  // namespace

bool IsValidUtf8(std::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size());
}

size_t CountCharacters(std::string_view text) {
  if (!IsValidUtf8(text)) return CountCharacters(ReplaceInvalidUtf8(text));
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

void AppendUtf8(char32_t character, std::string& out) {
  std::array<char, U8_MAX_LENGTH> buffer;
  int32_t size = 0;
  U8_APPEND_UNSAFE(buffer.data(), size, static_cast<UChar32>(character));
  out.append(buffer.data(), static_cast<size_t>(size));
}

std::string NormalizeNfkcCaseFold(std::string_view text) {
  std::string out;
  if (IsAscii(text)) {
    out.assign(text);
    for (char& c : out) c = ToLowerAscii(c);
    return out;
  }
  const std::string replaced = IsValidUtf8(text) ? std::string() : ReplaceInvalidUtf8(text);
  const std::string_view valid = replaced.empty() ? text : std::string_view(replaced);
  out.reserve(valid.size() + 16);
  UErrorCode error = U_ZERO_ERROR;
  icu::StringByteSink<std::string> sink(&out);
  CaseFoldNormalizer().normalizeUTF8(
      0, icu::StringPiece(valid.data(), static_cast<int32_t>(valid.size())), sink, nullptr, error);
  if (U_FAILURE(error)) throw std::runtime_error(u_errorName(error));
  return out;
}

std::string CollapseWhitespace(std::string_view text) {
  if (!IsValidUtf8(text)) return CollapseWhitespace(ReplaceInvalidUtf8(text));
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (const size_t size = WhitespaceSize(text, i); size > 0) {
      i += size;
      continue;
    }
    const size_t begin = i;
    while (i < text.size() && WhitespaceSize(text, i) == 0) ++i;
    if (!out.empty()) out += ' ';
    out.append(text.substr(begin, i - begin));
  }
  return out;
}

std::string GuessLanguage(std::string_view text) {
  LetterCounts counts;
  const char* bytes = text.data();
  const auto size = static_cast<int64_t>(text.size());
  for (int64_t next = 0; next < size;) {
    UChar32 character = 0;
    U8_NEXT_OR_FFFD(bytes, next, size, character);
    CountLetter(character, counts);
  }
  const size_t all = counts.hangul + counts.latin + counts.other;
  if (counts.hangul > 0 && counts.hangul * 4 >= all) return "ko";
  return counts.latin * 2 > all ? "en" : "und";
}

bool IsSlug(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return IsAsciiLowerAlnum(c) || c == '-';
  });
}

}  // namespace winnow
