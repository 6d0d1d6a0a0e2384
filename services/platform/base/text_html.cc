#include <libxml/HTMLparser.h>

#include <algorithm>
#include <array>
#include <optional>

#include "services/platform/base/ascii.h"
#include "services/platform/base/text.h"
#include "services/platform/base/utf8.h"

namespace winnow {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr char32_t kMaxCodePoint = 0x10FFFF;

struct Reference {
  size_t size;  // bytes from '&' on
  char32_t character;
};

// What a number stands for by the HTML standard: 128 to 159 mean windows-1252, as pages that were
// written in it spell them, and what is not a character is U+FFFD.
char32_t CharacterOfNumber(char32_t number) {
  static constexpr std::array<char32_t, 32> kWindows1252 = {
      0x20AC, 0x81,   0x201A, 0x192,  0x201E, 0x2026, 0x2020, 0x2021, 0x2C6,  0x2030, 0x160,
      0x2039, 0x152,  0x8D,   0x17D,  0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
      0x2013, 0x2014, 0x2DC,  0x2122, 0x161,  0x203A, 0x153,  0x9D,   0x17E,  0x178};
  if (number >= 0x80 && number <= 0x9F) return kWindows1252[number - 0x80];
  const bool surrogate = number >= 0xD800 && number <= 0xDFFF;
  return number == 0 || surrogate || number > kMaxCodePoint ? kReplacement : number;
}

int DigitValue(char c, char32_t base) { return base == 16 || IsAsciiDigit(c) ? HexValue(c) : -1; }

// "&#8217;", "&#x2019;"; browsers do without the semicolon too.
std::optional<Reference> ReadNumeric(std::string_view text) {
  const char32_t base = text.size() > 2 && ToLowerAscii(text[2]) == 'x' ? 16 : 10;
  const size_t digits = base == 16 ? 3 : 2;
  size_t i = digits;
  char32_t number = 0;
  for (; i < text.size() && DigitValue(text[i], base) >= 0; ++i) {
    number = number * base + static_cast<char32_t>(DigitValue(text[i], base));
    number =
        std::min<char32_t>(number, kMaxCodePoint + 1);  // any longer number is too large as well
  }
  if (i == digits) return std::nullopt;
  if (i < text.size() && text[i] == ';') ++i;
  return Reference{i, CharacterOfNumber(number)};
}

// "&amp;", with its semicolon: without, "&copy=1" of an address would be read as a sign.
std::optional<Reference> ReadNamed(std::string_view text) {
  constexpr size_t kLongestName = 8;  // thetasym
  const size_t end = text.substr(0, kLongestName + 2).find(';');
  if (end == std::string_view::npos || end < 3) return std::nullopt;
  const std::string_view name = text.substr(1, end - 1);
  if (name == "amp") return Reference{end + 1, '&'};
  if (name == "quot") return Reference{end + 1, '"'};
  std::array<xmlChar, kLongestName + 1> buffer{};
  std::copy(name.begin(), name.end(), buffer.begin());
  const htmlEntityDesc* entity = htmlEntityLookup(buffer.data());
  if (entity == nullptr) return std::nullopt;
  return Reference{end + 1, entity->value};
}

std::optional<Reference> ReadReference(std::string_view text) {
  if (text.size() < 3) return std::nullopt;
  return text[1] == '#' ? ReadNumeric(text) : ReadNamed(text);
}

struct Unescaped {
  std::string text;
  bool only_ampersands = true;  // no reference stood for anything else
};

// Of valid UTF-8.
Unescaped Unescape(std::string_view text) {
  Unescaped out;
  out.text.reserve(text.size());
  while (!text.empty()) {
    const size_t ampersand = std::min(text.find('&'), text.size());
    out.text.append(text.substr(0, ampersand));
    text.remove_prefix(ampersand);
    if (text.empty()) break;
    if (const auto reference = ReadReference(text)) {
      AppendUtf8(reference->character, out.text);
      out.only_ampersands = out.only_ampersands && reference->character == U'&';
      text.remove_prefix(reference->size);
    } else {
      out.text += '&';
      text.remove_prefix(1);
    }
  }
  return out;
}

// Walks over the markup of a text; positions are bytes.
class MarkupSkipper {
 public:
  explicit MarkupSkipper(std::string_view html)
      : html_(html), last_double_(html.rfind('"')), last_single_(html.rfind('\'')) {}

  // Where the markup that begins with the '<' (or "]]>") at `at` ends; `at` when it is none.
  size_t End(size_t at) const {
    const std::string_view rest = html_.substr(at);
    if (rest.starts_with("]]>")) return at + 3;
    if (rest.size() < 2 || rest[0] != '<') return at;
    if (rest.starts_with("<!--")) return After("-->", at + 2);
    // What CDATA holds is text.
    if (rest.starts_with("<![CDATA[")) return at + 9;
    if (rest[1] == '!' || rest[1] == '?') return After(">", at);
    if (IsAsciiLetter(rest[1])) return AfterElement(at);
    if (rest[1] == '/' && rest.size() > 2 && IsAsciiLetter(rest[2])) return AfterTag(at);
    return at;
  }

 private:
  size_t After(std::string_view end, size_t from) const {
    const size_t found = html_.find(end, from);
    return found == std::string_view::npos ? html_.size() : found + end.size();
  }

  // A '>' within a quoted value does not end the tag. A quote that is never closed is not one: the
  // last of its kind is known, so this stays linear.
  size_t AfterTag(size_t at) const {
    char before = 0;  // the last character that is not space
    for (size_t i = at + 1; i < html_.size(); ++i) {
      const char c = html_[i];
      if (c == '>') return i + 1;
      const bool closes_later = (c == '"' && i < last_double_) || (c == '\'' && i < last_single_);
      if (before == '=' && closes_later) i = html_.find(c, i + 1);
      if (!IsAsciiSpace(c)) before = c;
    }
    return html_.size();
  }

  // Also what script and style hold.
  size_t AfterElement(size_t at) const {
    const size_t end = AfterTag(at);
    for (const std::string_view name : {"script", "style"}) {
      const std::string_view tag = html_.substr(at + 1);
      if (!StartsWithAnyCase(tag, name)) continue;
      const char next = tag.size() > name.size() ? tag[name.size()] : '>';
      if (IsAsciiSpace(next) || next == '>' || next == '/') return AfterClosingTag(end, name);
    }
    return end;
  }

  size_t AfterClosingTag(size_t from, std::string_view name) const {
    for (size_t at = html_.find("</", from); at != std::string_view::npos;
         at = html_.find("</", at + 2)) {
      if (StartsWithAnyCase(html_.substr(at + 2), name)) return AfterTag(at);
    }
    return html_.size();
  }

  std::string_view html_;
  size_t last_double_;  // of no meaning if there is none: then none is met
  size_t last_single_;
};

}  // namespace

std::string UnescapeHtml(std::string_view text) {
  if (!IsValidUtf8(text)) return UnescapeHtml(ReplaceInvalidUtf8(text));
  return Unescape(text).text;
}

std::string UnescapeHtmlLayers(std::string_view text) {
  if (!IsValidUtf8(text)) return UnescapeHtmlLayers(ReplaceInvalidUtf8(text));
  Unescaped layer = Unescape(text);
  return layer.only_ampersands ? Unescape(layer.text).text : std::move(layer.text);
}

std::string StripHtml(std::string_view text) {
  if (!IsValidUtf8(text)) return StripHtml(ReplaceInvalidUtf8(text));
  std::string out;
  out.reserve(text.size());
  const MarkupSkipper skipper(text);
  size_t copied = 0;  // up to here `out` has what stays
  for (size_t i = 0; i < text.size();) {
    const size_t end = text[i] == '<' || text[i] == ']' ? skipper.End(i) : i;
    if (end > i) {
      out.append(text.substr(copied, i - copied)).append(1, ' ');
      copied = end;
    }
    i = std::max(end, i + 1);
  }
  out.append(text.substr(copied));
  return out;
}

}  // namespace winnow
