#include "services/classification/model/features.h"

#include <algorithm>

#include "services/platform/base/text.h"

namespace winnow::classification {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr size_t kMayGrow = 1000;

// One code point of valid or invalid UTF-8; advances by at least a byte.
char32_t Decode(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) -> uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const auto tail = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const uint32_t first = byte(at);
  if (first < 0x80) {
    ++at;
    return first;
  }
  if (first >= 0xC2 && first < 0xE0 && tail(at + 1)) {
    const char32_t c = ((first & 0x1F) << 6) | (byte(at + 1) & 0x3F);
    at += 2;
    return c;
  }
  if (first >= 0xE0 && first < 0xF0 && tail(at + 1) && tail(at + 2)) {
    const char32_t c =
        ((first & 0x0F) << 12) | ((byte(at + 1) & 0x3F) << 6) | (byte(at + 2) & 0x3F);
    if (c >= 0x800 && (c < 0xD800 || c > 0xDFFF)) {
      at += 3;
      return c;
    }
  }
  if (first >= 0xF0 && first < 0xF5 && tail(at + 1) && tail(at + 2) && tail(at + 3)) {
    const char32_t c = ((first & 0x07) << 18) | ((byte(at + 1) & 0x3F) << 12) |
                       ((byte(at + 2) & 0x3F) << 6) | (byte(at + 3) & 0x3F);
    if (c >= 0x10000 && c <= 0x10FFFF) {
      at += 4;
      return c;
    }
  }
  ++at;
  return kReplacement;
}

// NFKC leaves it alone, and case folding is ASCII's: ASCII, Hangul, curly quotes, symbols,
// unified ideographs and emoji. A test holds it against ICU.
bool IsPlain(char32_t c) {
  return c < 0x80 || (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0x2018 && c <= 0x201F) ||
         (c >= 0x2600 && c <= 0x27BF) || (c >= 0x4E00 && c <= 0x9FFF) ||
         (c >= 0x1F300 && c <= 0x1FAFF);
}
bool IsJamo(char32_t c) { return c >= 0x3131 && c <= 0x3163; }
bool IsSpace(char32_t c) { return c <= 0x20 || c == 0x7F || c == 0x85; }

// A letter or digit of a handle. Korean particles follow a handle without a space: "@name님".
bool IsHandleCharacter(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

void AppendRun(std::string_view bytes, std::u32string& out) {
  const std::string normal = NormalizeNfkcCaseFold(bytes);
  for (size_t at = 0; at < normal.size();) out += Decode(normal, at);
}

// Code points, normalised, not yet masked or squashed.
void ToCodePoints(std::string_view text, std::u32string& out) {
  const size_t limit = std::max(text.size(), kMayGrow);
  size_t before = 0;  // where the character before begins
  for (size_t at = 0; at < text.size() && out.size() < limit;) {
    const size_t begin = at;
    char32_t c = Decode(text, at);
    if (IsPlain(c)) {
      out += c >= 'A' && c <= 'Z' ? c + 32 : c;
      before = begin;
      continue;
    }
    if (IsJamo(c)) {
      out += c;
      before = at;
      continue;
    }
    // What needs NFKC goes there in one piece, with the character that a mark may combine with.
    size_t end = at;
    while (at < text.size()) {
      c = Decode(text, at);
      if (IsPlain(c) || IsJamo(c)) break;
      end = at;
    }
    at = end;
    if (before < begin) out.pop_back();
    AppendRun(text.substr(before, end - before), out);
    before = end;
  }
  if (out.size() > limit) out.resize(limit);
}

bool StartsWith(std::u32string_view text, size_t at, std::u32string_view prefix) {
  return text.substr(at, prefix.size()) == prefix;
}

bool IsUrl(std::u32string_view text, size_t at) {
  if (text[at] == 'h') {
    return StartsWith(text, at, U"http://") || StartsWith(text, at, U"https://");
  }
  return text[at] == 'w' && StartsWith(text, at, U"www.");
}

}  // namespace

void NormalizeComment(std::string_view text, std::u32string& out) {
  thread_local std::u32string points;
  points.clear();
  ToCodePoints(text, points);
  out.assign(1, U' ');
  const auto append = [&](char32_t c) {
    const size_t size = out.size();
    if (c == U' ' ? out.back() == U' ' : size >= 2 && out[size - 1] == c && out[size - 2] == c) {
      return;
    }
    out += c;
  };
  for (size_t at = 0; at < points.size();) {
    const char32_t c = points[at];
    if (IsUrl(points, at)) {
      while (at < points.size() && points[at] > 0x20 && points[at] < 0x7F) ++at;
      append(kUrlMark);
    } else if (c == U'@' && at + 1 < points.size() && IsHandleCharacter(points[at + 1])) {
      ++at;
      while (at < points.size() && IsHandleCharacter(points[at])) ++at;
      append(kHandleMark);
    } else {
      append(IsSpace(c) ? U' ' : c);
      ++at;
    }
  }
  if (out.back() != U' ') out += U' ';
}

}  // namespace winnow::classification
