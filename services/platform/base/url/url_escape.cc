#include "services/platform/base/url/url_escape.h"

#include <array>

#include "services/platform/base/ascii.h"

namespace winnow::url {
namespace {

enum class Kind : unsigned char { kForbidden, kReserved, kUnreserved };

constexpr std::array<Kind, 256> MakeKinds() {
  std::array<Kind, 256> kinds{};
  for (const char c : std::string_view(":/?#[]@!$&'()*+,;=")) {
    kinds[static_cast<unsigned char>(c)] = Kind::kReserved;
  }
  for (const char c : std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                       "0123456789-._~")) {
    kinds[static_cast<unsigned char>(c)] = Kind::kUnreserved;
  }
  return kinds;
}
constexpr std::array<Kind, 256> kKinds = MakeKinds();

Kind KindOf(char c) { return kKinds[static_cast<unsigned char>(c)]; }

// The byte that the "%XX" at `i` stands for, or -1.
int EscapedByte(std::string_view text, size_t i) {
  if (text.size() - i < 3) return -1;
  const int high = HexValue(text[i + 1]);
  const int low = HexValue(text[i + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

void AppendEscaped(char c, std::string& out) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  out += '%';
  out += kDigits[byte >> 4];
  out += kDigits[byte & 0xF];
}

bool IsBlank(char c) { return static_cast<unsigned char>(c) <= ' '; }

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

// How many bytes after a '&' belong to the same, escaped '&'.
size_t AmpersandRestSize(std::string_view text) {
  constexpr std::array<std::string_view, 4> kRests = {"amp;", "#38;", "#038;", "#x26;"};
  for (const std::string_view rest : kRests) {
    if (StartsWithAnyCase(text, rest)) return rest.size();
  }
  return 0;
}

}  // namespace

std::string NormalizeEscapes(std::string_view address) {
  address = Trimmed(address);
  std::string out;
  out.reserve(address.size() + 16);
  for (size_t i = 0; i < address.size(); ++i) {
    const char c = address[i];
    if (c == '\t' || c == '\n' || c == '\r') continue;
    if (KindOf(c) != Kind::kForbidden) {
      out += c;
      continue;
    }
    const int escaped = c == '%' ? EscapedByte(address, i) : -1;
    if (escaped < 0) {
      AppendEscaped(c, out);
      continue;
    }
    const char byte = static_cast<char>(escaped);
    if (KindOf(byte) == Kind::kUnreserved) {
      out += byte;
    } else {
      AppendEscaped(byte, out);
    }
    i += 2;
  }
  return out;
}

void UnescapeAmpersands(std::string& address) {
  size_t from = address.find('&');
  if (from == std::string::npos) return;
  size_t to = from;
  while (from < address.size()) {
    const char c = address[from++];
    address[to++] = c;
    if (c != '&') continue;
    const std::string_view rest = WithoutAmpersandRest(std::string_view(address).substr(from));
    from = address.size() - rest.size();
  }
  address.resize(to);
}

std::string_view WithoutAmpersandRest(std::string_view text) {
  while (const size_t size = AmpersandRestSize(text)) text.remove_prefix(size);
  return text;
}

std::string DecodeEscapes(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const int escaped = text[i] == '%' ? EscapedByte(text, i) : -1;
    out += escaped < 0 ? text[i] : static_cast<char>(escaped);
    if (escaped >= 0) i += 2;
  }
  return out;
}

}  // namespace winnow::url
