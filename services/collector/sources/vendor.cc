#include "services/collector/sources/vendor.h"

#include <algorithm>

#include "services/platform/base/ascii.h"
#include "services/platform/base/text.h"
#include "services/platform/base/url/url.h"

namespace winnow::collector {
namespace {

constexpr size_t kMaxCode = 64;
constexpr const char* kOutcomes[] = {"none", "ok",       "partial", "quota_day", "rate",
                                     "auth", "upstream", "parse",   "blocked"};

}  // namespace

const char* NameOf(Outcome outcome) { return kOutcomes[static_cast<size_t>(outcome)]; }

std::string PrintableCode(std::string_view code) {
  std::string out(code.substr(0, kMaxCode));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

std::string EncodeQuery(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = IsAsciiAlnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

std::string ChannelOf(const std::string& url) {
  const StatusOr<std::string> canonical = CanonicalUrl(url);
  if (!canonical.ok()) return {};
  const size_t begin = canonical->find("://") + 3;
  return canonical->substr(begin, canonical->find_first_of("/?#", begin) - begin);
}

std::string LeadOf(std::string_view text, size_t limit) {
  std::string out = CollapseWhitespace(text);
  size_t characters = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(out[i]) & 0xC0) != 0x80;
    if (begins && ++characters > limit) {
      out.resize(i);
      break;
    }
  }
  return out;
}

std::vector<std::string> TakeWords(const std::vector<std::string>& words, size_t limit) {
  std::vector<std::string> out;
  for (const std::string& word : words) {
    std::string text = CollapseWhitespace(word);
    const bool fits =
        !text.empty() && CountCharacters(text) <= kMaxWord && text.find('\0') == std::string::npos;
    if (!fits || std::find(out.begin(), out.end(), text) != out.end()) continue;
    if (out.size() == limit) break;
    out.push_back(std::move(text));
  }
  return out;
}

}  // namespace winnow::collector
