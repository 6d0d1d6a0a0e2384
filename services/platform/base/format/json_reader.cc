#include "services/platform/base/format/json_reader.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "services/platform/base/ascii.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/text.h"
#include "services/platform/base/utf8.h"

namespace winnow {
namespace {

constexpr std::string_view kNoValue = "is not a JSON value: strings need double quotes";
constexpr std::string_view kMissing = "a value is missing here";
constexpr std::string_view kComment = "JSON has no comments: take this out";

// The code unit of a "\\uXXXX" at the begin of `text`.
std::optional<uint32_t> CodeUnit(std::string_view text) {
  uint32_t unit = 0;
  if (text.size() < 6 || !text.starts_with("\\u")) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, unit, 16);
  if (error != std::errc() || end != text.data() + 6) return std::nullopt;
  return unit;
}

}  // namespace

bool JsonReader::Fail(std::string_view why) {
  if (error_.empty()) error_ = why;
  return false;
}

std::string JsonReader::error() const {
  return ok() ? "" : "byte " + std::to_string(position_) + ": " + error_;
}

// Of what comes next; 0 at the end and after an error.
char JsonReader::NextAfterSpace() {
  if (!ok()) return '\0';
  position_ = std::min(text_.find_first_not_of(" \t\r\n", position_), text_.size());
  return Next();
}

JsonReader::Kind JsonReader::Peek() {
  const char c = NextAfterSpace();
  if (!ok()) return Kind::kError;
  if (position_ >= text_.size()) return Kind::kEnd;
  if (c == '{') return Kind::kObject;
  if (c == '[') return Kind::kArray;
  if (c == '"') return Kind::kString;
  if (c == 't' || c == 'f') return Kind::kBool;
  if (c == 'n') return Kind::kNull;
  if (c == '-' || IsAsciiDigit(c)) return Kind::kNumber;
  if (c == '/') {
    Fail(kComment);
  } else if (c == ',' || c == '}' || c == ']') {
    Fail(kMissing);
  } else {
    Fail(kNoValue);
  }
  return Kind::kError;
}

bool JsonReader::Expect(Kind kind) {
  const Kind next = Peek();
  if (next == kind) return true;
  return Fail(next == Kind::kEnd ? std::string("the text ends where a value is missing")
                                 : "expected " + std::string(NameOfKind(kind)));
}

bool JsonReader::Take(char c) {
  if (NextAfterSpace() != c) return false;
  ++position_;
  return true;
}

bool JsonReader::Open(Kind kind) {
  if (!Expect(kind)) return false;
  if (depth_ == rules_.max_depth) {
    return Fail("objects and lists nest more than " + std::to_string(rules_.max_depth) + " deep");
  }
  ++depth_;
  ++position_;
  return true;
}

bool JsonReader::Close(char c) {
  if (!Take(c)) return false;
  --depth_;
  return true;
}

bool JsonReader::ReadName(bool first, std::string& name) {
  if (!first && !Take(',')) return Fail("a comma or the object's closing brace is missing");
  const char next = NextAfterSpace();
  if (next == '}') return Fail("a comma must not stand before the end of an object");
  if (next == '/') return Fail(kComment);
  if (next != '"') return Fail("a field's name in double quotes is missing");
  const size_t begin = position_;
  if (!ScanString(&name)) return false;
  name_spelling_ = text_.substr(begin, position_ - begin);
  return Take(':') || Fail("a colon is missing after the field's name");
}

bool JsonReader::BeginItem(bool first) {
  if (first) return ok();
  if (!Take(',')) return Fail("a comma or the list's closing bracket is missing");
  const char next = NextAfterSpace();
  if (next == ']') return Fail("a comma must not stand before the end of a list");
  return next != '}' || Fail(kMissing);
}

bool JsonReader::TakeWord(std::string_view word) {
  if (!text_.substr(position_).starts_with(word)) return Fail(kNoValue);
  position_ += word.size();
  return true;
}

// Of a string whose opening quote comes next.
bool JsonReader::ScanString(std::string* value) {
  ++position_;
  while (position_ < text_.size()) {
    const size_t begin = position_;
    while (position_ < text_.size() && Next() != '"' && Next() != '\\' &&
           static_cast<unsigned char>(Next()) >= 0x20) {
      ++position_;
    }
    if (value != nullptr) value->append(text_.substr(begin, position_ - begin));
    if (Next() == '\\') {
      if (!ScanEscape(value)) return false;
    } else if (Next() == '"') {
      ++position_;
      return true;
    } else {
      break;
    }
  }
  return Fail("a string's closing quote is missing");
}

bool JsonReader::ScanEscape(std::string* value) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const std::string_view letter = text_.substr(position_ + 1, 1);
  if (letter == "u") return ScanUnicodeEscape(value);
  const size_t which = letter.empty() ? std::string_view::npos : kLetters.find(letter);
  if (which == std::string_view::npos) return Fail("unknown escape; write a backslash as \\\\");
  position_ += 2;
  if (value != nullptr) *value += kMeanings[which];
  return true;
}

bool JsonReader::ScanUnicodeEscape(std::string* value) {
  auto character = CodeUnit(text_.substr(position_));
  if (!character) return Fail("four hexadecimal digits are missing after \\u");
  size_t size = 6;
  if (*character >= 0xD800 && *character < 0xE000) {
    const auto low = CodeUnit(text_.substr(position_ + size));
    if (*character < 0xDC00 && low && *low >= 0xDC00 && *low < 0xE000) {
      character = 0x10000 + ((*character - 0xD800) << 10) + (*low - 0xDC00);
      size = 12;
    } else if (rules_.refuses_lone_surrogates) {
      return Fail("half of a surrogate pair is missing");
    } else {
      character = 0xFFFD;
    }
  }
  position_ += size;
  if (value != nullptr) AppendUtf8(*character, *value);
  return true;
}

bool JsonReader::ReadString(std::string& value) {
  value.clear();
  return Expect(Kind::kString) && ScanString(&value);
}

bool JsonReader::TakeDigits() {
  const size_t begin = position_;
  while (IsAsciiDigit(Next())) ++position_;
  return position_ > begin;
}

bool JsonReader::ReadNumber(std::string_view& spelling) {
  if (!Expect(Kind::kNumber)) return false;
  const size_t begin = position_;
  if (Next() == '-') ++position_;
  const size_t first = position_;
  if (!TakeDigits()) {
    position_ = begin;
    return Fail(kNoValue);
  }
  if (text_[first] == '0' && position_ > first + 1) {
    position_ = first;
    return Fail("a number must not begin with 0");
  }
  if (Next() == '.') {
    ++position_;
    if (!TakeDigits()) return Fail("digits are missing after the decimal point");
  }
  if (Next() == 'e' || Next() == 'E') {
    ++position_;
    if (Next() == '+' || Next() == '-') ++position_;
    if (!TakeDigits()) return Fail("digits are missing in the exponent");
  }
  spelling = text_.substr(begin, position_ - begin);
  return true;
}

bool JsonReader::ReadInteger(int64_t& value) {
  std::string_view spelling;
  if (!ReadNumber(spelling)) return false;
  const auto [end, error] =
      std::from_chars(spelling.data(), spelling.data() + spelling.size(), value);
  if (error != std::errc() || end != spelling.data() + spelling.size()) {
    return Fail("expected an integer of 64 bits");
  }
  return true;
}

bool JsonReader::ReadDouble(double& value) {
  std::string_view spelling;
  if (!ReadNumber(spelling)) return false;
  const auto [end, error] =
      std::from_chars(spelling.data(), spelling.data() + spelling.size(), value);
  return error == std::errc() || Fail("a number out of range");
}

bool JsonReader::ReadBool(bool& value) {
  if (!Expect(Kind::kBool)) return false;
  value = Next() == 't';
  return TakeWord(value ? "true" : "false");
}

bool JsonReader::ReadNull() { return Expect(Kind::kNull) && TakeWord("null"); }

bool JsonReader::Skip() {
  switch (Peek()) {
    case Kind::kNull:
      return ReadNull();
    case Kind::kBool: {
      bool flag = false;
      return ReadBool(flag);
    }
    case Kind::kNumber: {
      std::string_view spelling;
      return ReadNumber(spelling);
    }
    case Kind::kString:
      return ScanString(nullptr);
    case Kind::kArray:
      return ReadArray([this] { return Skip(); });
    case Kind::kObject:
      return ReadObject([this](std::string_view) { return Skip(); });
    default:
      return Fail("the text ends where a value is missing");
  }
}

bool JsonReader::ReadRaw(std::string_view& raw) {
  Peek();
  const size_t begin = position_;
  if (!Skip()) return false;
  raw = text_.substr(begin, position_ - begin);
  return true;
}

std::string_view NameOfKind(JsonReader::Kind kind) {
  switch (kind) {
    case JsonReader::Kind::kNull:
      return "null";
    case JsonReader::Kind::kBool:
      return "true or false";
    case JsonReader::Kind::kNumber:
      return "a number";
    case JsonReader::Kind::kString:
      return "a string";
    case JsonReader::Kind::kArray:
      return "a list";
    case JsonReader::Kind::kObject:
      return "an object";
    default:
      return "a value";
  }
}

std::string JsonQuoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : ReplaceInvalidUtf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\u00" + Hex(std::string_view(&c, 1));
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace winnow
