#include "services/platform/json_tree.h"

#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "services/platform/text.h"

namespace winnow {
namespace {

constexpr int kMaxDepth = 32;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Where the first byte stands that is not UTF-8.
size_t FirstBadByte(std::string_view text) {
  const auto size = static_cast<int64_t>(text.size());
  int64_t next = 0;
  int64_t begin = 0;
  for (UChar32 character = 0; next < size && character >= 0;) {
    begin = next;
    U8_NEXT(text.data(), next, size, character);
  }
  return static_cast<size_t>(begin);
}

// A recursive descent over the text. The first error ends it: after it nothing is sure.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<JsonValue> Parse() {
    JsonValue value;
    if (!ParseValue(value, 0)) return std::nullopt;
    SkipSpace();
    if (at_ < text_.size()) {
      Fail("nothing may follow the end of the value");
      return std::nullopt;
    }
    return value;
  }

  size_t position() const { return at_; }
  const std::string& error() const { return error_; }

 private:
  bool Fail(std::string error) {
    if (error_.empty()) error_ = std::move(error);
    return false;
  }

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void SkipSpace() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  bool Take(char c) {
    SkipSpace();
    if (Peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }

  bool ParseValue(JsonValue& value, int depth) {
    SkipSpace();
    if (at_ >= text_.size()) return Fail("the text ends where a value is missing");
    if (depth > kMaxDepth) return Fail("objects and lists nest more than 32 deep");
    const size_t begin = at_;
    const bool ok = ParseAny(value, depth);
    value.raw = text_.substr(begin, at_ - begin);
    return ok;
  }

  bool ParseAny(JsonValue& value, int depth) {
    switch (Peek()) {
      case '{':
        return ParseObject(value, depth);
      case '[':
        return ParseArray(value, depth);
      case '"':
        value.kind = JsonValue::Kind::kString;
        return ParseString(nullptr);
      case 't':
        return ParseWord("true", JsonValue::Kind::kBool, value);
      case 'f':
        return ParseWord("false", JsonValue::Kind::kBool, value);
      case 'n':
        return ParseWord("null", JsonValue::Kind::kNull, value);
      case '/':
        return Fail("JSON has no comments: take this out");
      case '\'':
        return Fail("strings need double quotes");
      case ',':
      case '}':
      case ']':
        return Fail("a value is missing here");
      default:
        value.kind = JsonValue::Kind::kNumber;
        return ParseNumber();
    }
  }

  bool ParseWord(std::string_view word, JsonValue::Kind kind, JsonValue& value) {
    if (!text_.substr(at_).starts_with(word)) return FailAtWord();
    at_ += word.size();
    value.kind = kind;
    return true;
  }

  bool FailAtWord() { return Fail("is not a JSON value: strings need double quotes"); }

  bool Digits() {
    const size_t begin = at_;
    while (IsDigit(Peek())) ++at_;
    return at_ > begin;
  }

  bool ParseNumber() {
    const size_t begin = at_;
    if (Peek() == '-') ++at_;
    if (!IsDigit(Peek())) {
      at_ = begin;
      return FailAtWord();
    }
    if (Peek() == '0' && at_ + 1 < text_.size() && IsDigit(text_[at_ + 1])) {
      return Fail("a number must not begin with 0");
    }
    Digits();
    if (Peek() == '.') {
      ++at_;
      if (!Digits()) return Fail("digits are missing after the decimal point");
    }
    if (Peek() == 'e' || Peek() == 'E') {
      ++at_;
      if (Peek() == '+' || Peek() == '-') ++at_;
      if (!Digits()) return Fail("digits are missing in the exponent");
    }
    return true;
  }

  bool ParseObject(JsonValue& value, int depth) {
    value.kind = JsonValue::Kind::kObject;
    ++at_;
    if (Take('}')) return true;
    do {
      SkipSpace();
      if (Peek() == '}') return Fail("a comma must not stand before the end of an object");
      if (Peek() == '/') return Fail("JSON has no comments: take this out");
      if (Peek() != '"') return Fail("a field's name in double quotes is missing");
      JsonMember member;
      const size_t begin = at_;
      if (!ParseString(&member.name)) return false;
      member.raw = text_.substr(begin, at_ - begin);
      if (!Take(':')) return Fail("a colon is missing after the field's name");
      if (!ParseValue(member.value, depth + 1)) return false;
      value.members.push_back(std::move(member));
    } while (Take(','));
    return Take('}') || Fail("a comma or the object's closing brace is missing");
  }

  bool ParseArray(JsonValue& value, int depth) {
    value.kind = JsonValue::Kind::kArray;
    ++at_;
    if (Take(']')) return true;
    do {
      SkipSpace();
      if (Peek() == ']') return Fail("a comma must not stand before the end of a list");
      if (!ParseValue(value.items.emplace_back(), depth + 1)) return false;
    } while (Take(','));
    return Take(']') || Fail("a comma or the list's closing bracket is missing");
  }

  // Checks a string; unescapes it to `out` when it is wanted.
  bool ParseString(std::string* out) {
    for (++at_; at_ < text_.size();) {
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) return Fail("a string's closing quote is missing");
      if (c == '\\') {
        if (!ParseEscape(out)) return false;
        continue;
      }
      ++at_;
      if (c == '"') return true;
      if (out != nullptr) *out += c;
    }
    return Fail("a string's closing quote is missing");
  }

  bool ParseEscape(std::string* out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char letter = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (letter == 'u') return ParseUnicodeEscape(out);
    const size_t which = kLetters.find(letter);
    if (letter == '\0' || which == std::string_view::npos) {
      return Fail("unknown escape; write a backslash as \\\\");
    }
    at_ += 2;
    if (out != nullptr) *out += kMeanings[which];
    return true;
  }

  // The code unit of the "\uXXXX" at `at`.
  std::optional<UChar32> CodeUnit(size_t at) const {
    if (text_.substr(std::min(at, text_.size()), 2) != "\\u") return std::nullopt;
    const std::string_view digits = text_.substr(at + 2, 4);
    uint32_t unit = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
    if (digits.size() < 4 || error != std::errc() || end != digits.data() + 4) return std::nullopt;
    return static_cast<UChar32>(unit);
  }

  bool ParseUnicodeEscape(std::string* out) {
    auto character = CodeUnit(at_);
    if (!character) return Fail("four hexadecimal digits are missing after \\u");
    size_t size = 6;
    if (*character >= 0xD800 && *character <= 0xDBFF) {
      const auto low = CodeUnit(at_ + 6);
      if (!low || *low < 0xDC00 || *low > 0xDFFF)
        return Fail("half of a surrogate pair is missing");
      character = 0x10000 + ((*character - 0xD800) << 10) + (*low - 0xDC00);
      size = 12;
    } else if (*character >= 0xDC00 && *character <= 0xDFFF) {
      return Fail("half of a surrogate pair is missing");
    }
    at_ += size;
    if (out == nullptr) return true;
    std::array<char, U8_MAX_LENGTH> buffer;
    int32_t length = 0;
    U8_APPEND_UNSAFE(buffer.data(), length, *character);
    out->append(buffer.data(), static_cast<size_t>(length));
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string error_;
};

}  // namespace

std::string_view NameOfKind(JsonValue::Kind kind) {
  switch (kind) {
    case JsonValue::Kind::kNull:
      return "null";
    case JsonValue::Kind::kBool:
      return "true or false";
    case JsonValue::Kind::kNumber:
      return "a number";
    case JsonValue::Kind::kString:
      return "a string";
    case JsonValue::Kind::kArray:
      return "a list";
    case JsonValue::Kind::kObject:
      return "an object";
  }
  return "a value";
}

std::string JsonPlace(std::string_view text, std::string_view place, std::string_view origin) {
  const auto offset = static_cast<size_t>(place.data() - text.data());
  const std::string_view before = text.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t line_begin =
      before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const size_t column = CountCharacters(before.substr(line_begin)) + 1;
  return std::string(origin) + ":" + std::to_string(line) + ":" + std::to_string(column);
}

StatusOr<JsonValue> ParseJson(std::string_view text, std::string_view origin) {
  const auto fail = [&](size_t at, const std::string& error) {
    return InvalidField("", JsonPlace(text, text.substr(at), origin) + ": " + error);
  };
  if (!IsValidUtf8(text)) {
    return fail(FirstBadByte(text), "the text is not UTF-8: save it as UTF-8");
  }
  Parser parser(text);
  auto value = parser.Parse();
  if (!value) return fail(parser.position(), parser.error());
  return *std::move(value);
}

}  // namespace winnow
