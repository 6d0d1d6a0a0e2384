#include "services/platform/json_reader.h"

#include <charconv>

#include "services/platform/hash.h"
#include "services/platform/text.h"
#include "services/platform/utf8.h"

namespace winnow {
namespace {

constexpr int kMaxDepth = 64;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool JsonReader::Fail(std::string_view why) {
  if (error_.empty()) error_ = "byte " + std::to_string(position_) + ": " + std::string(why);
  return false;
}

void JsonReader::SkipSpace() {
  while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n' ||
                                      text_[position_] == '\r' || text_[position_] == '\t')) {
    ++position_;
  }
}

JsonReader::Kind JsonReader::Peek() {
  if (!ok()) return Kind::kError;
  SkipSpace();
  if (position_ >= text_.size()) return Kind::kEnd;
  const char c = text_[position_];
  if (c == '{') return Kind::kObject;
  if (c == '[') return Kind::kArray;
  if (c == '"') return Kind::kString;
  if (c == 't' || c == 'f') return Kind::kBool;
  if (c == 'n') return Kind::kNull;
  if (c == '-' || IsDigit(c)) return Kind::kNumber;
  Fail("no JSON value");
  return Kind::kError;
}

bool JsonReader::Take(char c) {
  SkipSpace();
  if (!ok() || position_ >= text_.size() || text_[position_] != c) {
    return Fail(std::string("expected ") + c);
  }
  ++position_;
  return true;
}

bool JsonReader::Open(char c) {
  if (!Take(c)) return false;
  if (++depth_ > kMaxDepth) return Fail("nested more than 64 deep");
  return true;
}

bool JsonReader::Close(char c) {
  if (!ok()) return false;
  SkipSpace();
  if (position_ >= text_.size() || text_[position_] != c) return false;
  ++position_;
  --depth_;
  return true;
}

bool JsonReader::Separator(bool first) {
  if (first) return ok();
  if (!Take(',')) return false;
  SkipSpace();
  if (position_ < text_.size() && (text_[position_] == ']' || text_[position_] == '}')) {
    return Fail("a comma before the end");
  }
  return true;
}

bool JsonReader::TakeWord(std::string_view word) {
  SkipSpace();
  if (!ok() || text_.substr(position_, word.size()) != word) {
    return Fail("expected " + std::string(word));
  }
  position_ += word.size();
  return true;
}

bool JsonReader::ReadUnit(uint32_t& unit) {
  if (text_.size() - position_ < 4) return Fail("a cut \\u escape");
  const char* begin = text_.data() + position_;
  const auto [end, error] = std::from_chars(begin, begin + 4, unit, 16);
  if (error != std::errc() || end != begin + 4) return Fail("a bad \\u escape");
  position_ += 4;
  return true;
}

bool JsonReader::ReadEscape(std::string& value) {
  if (position_ >= text_.size()) return Fail("a cut string");
  const char c = text_[position_++];
  switch (c) {
    case '"':
    case '\\':
    case '/':
      value += c;
      return true;
    case 'b':
      value += '\b';
      return true;
    case 'f':
      value += '\f';
      return true;
    case 'n':
      value += '\n';
      return true;
    case 'r':
      value += '\r';
      return true;
    case 't':
      value += '\t';
      return true;
    case 'u':
      break;
    default:
      return Fail("an unknown escape");
  }
  uint32_t unit = 0;
  if (!ReadUnit(unit)) return false;
  if (unit >= 0xD800 && unit < 0xDC00 && text_.substr(position_, 2) == "\\u") {
    const size_t before = position_;
    position_ += 2;
    uint32_t low = 0;
    if (!ReadUnit(low)) return false;
    if (low >= 0xDC00 && low < 0xE000) {
      unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    } else {
      position_ = before;  // a lone surrogate, then something else
    }
  }
  AppendUtf8(unit >= 0xD800 && unit < 0xE000 ? 0xFFFD : unit, value);
  return true;
}

bool JsonReader::ReadString(std::string& value) {
  value.clear();
  if (!Take('"')) return false;
  while (position_ < text_.size()) {
    const size_t begin = position_;
    while (position_ < text_.size() && text_[position_] != '"' && text_[position_] != '\\' &&
           static_cast<unsigned char>(text_[position_]) >= 0x20) {
      ++position_;
    }
    value.append(text_.substr(begin, position_ - begin));
    if (position_ >= text_.size()) break;
    const char c = text_[position_++];
    if (c == '"') return true;
    if (c != '\\') return Fail("a control character in a string");
    if (!ReadEscape(value)) return false;
  }
  return Fail("a string without end");
}

bool JsonReader::ReadNumber(std::string_view& spelling) {
  if (Peek() != Kind::kNumber) return Fail("expected a number");
  const size_t begin = position_;
  const auto digits = [&] {
    const size_t first = position_;
    while (position_ < text_.size() && IsDigit(text_[position_])) ++position_;
    return position_ > first;
  };
  if (text_[position_] == '-') ++position_;
  const bool zero = position_ < text_.size() && text_[position_] == '0';
  const size_t first = position_;
  if (!digits() || (zero && position_ > first + 1)) return Fail("a bad number");
  if (position_ < text_.size() && text_[position_] == '.') {
    ++position_;
    if (!digits()) return Fail("a bad number");
  }
  if (position_ < text_.size() && (text_[position_] == 'e' || text_[position_] == 'E')) {
    ++position_;
    if (position_ < text_.size() && (text_[position_] == '+' || text_[position_] == '-')) {
      ++position_;
    }
    if (!digits()) return Fail("a bad number");
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
  if (Peek() != Kind::kBool) return Fail("expected true or false");
  value = text_[position_] == 't';
  return TakeWord(value ? "true" : "false");
}

bool JsonReader::ReadNull() { return TakeWord("null"); }

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
    case Kind::kString: {
      std::string text;
      return ReadString(text);
    }
    case Kind::kArray:
      return ReadArray([this] { return Skip(); });
    case Kind::kObject:
      return ReadObject([this](std::string_view) { return Skip(); });
    default:
      return Fail("expected a value");
  }
}

bool JsonReader::ReadRaw(std::string_view& raw) {
  Peek();
  const size_t begin = position_;
  if (!Skip()) return false;
  raw = text_.substr(begin, position_ - begin);
  return true;
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
