#include "services/platform/base/format/charset.h"

#include <unicode/ucnv.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "services/platform/base/ascii.h"
#include "services/platform/base/text.h"
#include "services/platform/base/utf8.h"

namespace winnow {
namespace {

constexpr size_t kMaxName = 40;
constexpr size_t kMaxContentType = 200;

struct Alias {
  std::string_view name;
  const char* converter;
};

// What the web means by a name, where that is not what the name says.
constexpr Alias kAliases[] = {
    {"euc-kr", "windows-949-2000"},
    {"euckr", "windows-949-2000"},
    {"ks_c_5601-1987", "windows-949-2000"},
    {"ks_c_5601-1989", "windows-949-2000"},
    {"ksc5601", "windows-949-2000"},
    {"ksc_5601", "windows-949-2000"},
    {"korean", "windows-949-2000"},
    {"cp949", "windows-949-2000"},
    {"ms949", "windows-949-2000"},
    {"uhc", "windows-949-2000"},
    {"x-windows-949", "windows-949-2000"},
    {"windows-949", "windows-949-2000"},
    {"ascii", "windows-1252"},
    {"us-ascii", "windows-1252"},
    {"iso-8859-1", "windows-1252"},
    {"latin1", "windows-1252"},
    {"iso8859-1", "windows-1252"},
    {"gb2312", "gb18030"},
    {"gbk", "gb18030"},
    {"utf8", "utf-8"},
    {"utf-16", "utf-16le"},
    {"unicode", "utf-16le"},
};

std::string LowerTrimmed(std::string_view text) {
  return LowerAscii(TrimAscii(text).substr(0, kMaxName + 1));
}

using Converter = std::unique_ptr<UConverter, decltype(&ucnv_close)>;

Converter Open(const std::string& name) {
  const auto* alias = std::find_if(std::begin(kAliases), std::end(kAliases),
                                   [&](const Alias& one) { return one.name == name; });
  const char* converter = alias == std::end(kAliases) ? name.c_str() : alias->converter;
  UErrorCode error = U_ZERO_ERROR;
  Converter found(ucnv_open(converter, &error), &ucnv_close);
  return U_SUCCESS(error) ? std::move(found) : Converter(nullptr, &ucnv_close);
}

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

std::optional<std::string> DecodeToUtf8(std::string_view bytes, std::string_view charset) {
  const std::string name = LowerTrimmed(charset);
  if (name.empty() || name.size() > kMaxName ||
      bytes.size() > std::numeric_limits<int>::max() / 4) {
    return std::nullopt;
  }
  if (name == "utf-8" || name == "utf8") return ReplaceInvalidUtf8(bytes);
  const Converter from = Open(name);
  if (from == nullptr) return std::nullopt;
  const Converter to = Open("utf-8");
  if (to == nullptr) return std::nullopt;
  std::string out(bytes.size() * 3 + 16, '\0');
  char* target = out.data();
  const char* source = bytes.data();
  UErrorCode error = U_ZERO_ERROR;
  ucnv_convertEx(to.get(), from.get(), &target, out.data() + out.size(), &source,
                 bytes.data() + bytes.size(), nullptr, nullptr, nullptr, nullptr, true, true,
                 &error);
  if (U_FAILURE(error)) return std::nullopt;
  out.resize(static_cast<size_t>(target - out.data()));
  return out;
}

std::string_view CharsetOfMark(std::string_view bytes, size_t& size) {
  size = 3;
  if (bytes.starts_with("\xEF\xBB\xBF")) return "utf-8";
  size = 2;
  if (bytes.starts_with("\xFF\xFE")) return "utf-16le";
  if (bytes.starts_with("\xFE\xFF")) return "utf-16be";
  size = 0;
  return {};
}

std::string CharsetOfContentType(std::string_view content_type) {
  const std::string lower = LowerAscii(content_type.substr(0, kMaxContentType));
  size_t at = lower.find("charset");
  if (at == std::string::npos) return {};
  at = lower.find_first_not_of(" \t", at + 7);
  if (at == std::string::npos || lower[at] != '=') return {};
  at = lower.find_first_not_of(" \t\"'", at + 1);
  if (at == std::string::npos) return {};
  return lower.substr(at, std::min(lower.find_first_of(" \t\"';,>", at), lower.size()) - at);
}

std::string DecodeWebText(std::string_view bytes, std::string_view transport,
                          std::string_view declared) {
  size_t mark = 0;
  const std::string_view marked = CharsetOfMark(bytes, mark);
  if (!marked.empty()) {
    return DecodeToUtf8(bytes.substr(mark), marked).value_or(std::string());
  }
  if (!transport.empty()) {
    if (auto text = DecodeToUtf8(bytes, transport)) return *std::move(text);
  }
  const bool valid = IsValidUtf8(bytes);
  if (valid && (declared.empty() || !IsAscii(bytes))) return std::string(bytes);
  // UTF-16 cannot be what an ASCII declaration was read from.
  const bool wide = LowerTrimmed(declared).starts_with("utf-16");
  if (!declared.empty() && !wide && LowerTrimmed(declared) != "utf-8") {
    if (auto text = DecodeToUtf8(bytes, declared)) return *std::move(text);
  }
  if (valid) return std::string(bytes);
  // Declared as UTF-8 and not quite valid: mostly UTF-8 that was cut; otherwise the encoding is not
  // declared.
  if (!declared.empty()) return ReplaceInvalidUtf8(bytes);
  return DecodeToUtf8(bytes, "cp949").value_or(ReplaceInvalidUtf8(bytes));
}

}  // namespace winnow
