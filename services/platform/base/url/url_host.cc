#include "services/platform/base/url/url_host.h"

#include <arpa/inet.h>
#include <unicode/bytestream.h>
#include <unicode/idna.h>
#include <unicode/stringpiece.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <stdexcept>

#include "services/platform/base/ascii.h"
#include "services/platform/base/text.h"
#include "services/platform/base/url/url_escape.h"

namespace winnow::url {
namespace {

constexpr size_t kMaxHostSize = 253;
constexpr size_t kMaxLabelSize = 63;

Status Bad(std::string description) { return InvalidField("", std::move(description)); }

Status BadHost() {
  return Bad("has a host that is not a valid name or address; write it as in https://example.com/");
}

// ICU's rules for names that are not ASCII (UTS 46), made once.
const icu::IDNA& Idna() {
  static const icu::IDNA& idna = []() -> const icu::IDNA& {
    UErrorCode error = U_ZERO_ERROR;
    const icu::IDNA* made = icu::IDNA::createUTS46Instance(
        UIDNA_NONTRANSITIONAL_TO_ASCII | UIDNA_CHECK_BIDI | UIDNA_CHECK_CONTEXTJ, error);
    if (made == nullptr) throw std::runtime_error(u_errorName(error));  // ICU's data are broken
    return *made;
  }();
  return idna;
}

std::optional<std::string> ToAscii(const std::string& host) {
  if (!IsValidUtf8(host)) return std::nullopt;
  UErrorCode error = U_ZERO_ERROR;
  icu::IDNAInfo info;
  std::string ascii;
  icu::StringByteSink<std::string> sink(&ascii);
  Idna().nameToASCII_UTF8(icu::StringPiece(host.data(), static_cast<int32_t>(host.size())), sink,
                          info, error);
  if (U_FAILURE(error) || info.hasErrors()) return std::nullopt;
  return ascii;
}

bool IsHostCharacter(char c) { return IsAsciiLowerAlnum(c) || c == '-' || c == '_'; }

// Lower-case names and IPv4 addresses.
bool IsHostName(std::string_view host) {
  if (host.empty() || host.size() > kMaxHostSize) return false;
  size_t label_size = 0;
  for (const char c : host) {
    if (c == '.') {
      if (label_size == 0) return false;
      label_size = 0;
    } else if (!IsHostCharacter(c) || ++label_size > kMaxLabelSize) {
      return false;
    }
  }
  return label_size > 0;
}

// While at least two labels remain: "m.com" is a site of its own.
std::string_view WithoutPrefixes(std::string_view host) {
  constexpr std::array<std::string_view, 4> kPrefixes = {"www.", "m.", "mobile.", "amp."};
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view prefix : kPrefixes) {
      if (!host.starts_with(prefix)) continue;
      if (host.find('.', prefix.size()) == std::string_view::npos) continue;
      host.remove_prefix(prefix.size());
      again = true;
    }
  }
  return host;
}

StatusOr<std::string> CanonicalName(std::string_view escaped) {
  // Each byte of the ASCII form stands for at most one character, which is at most "%XX" times 4.
  if (escaped.size() > kMaxHostSize * 12) return BadHost();
  std::string host = DecodeEscapes(escaped);
  const bool ascii = std::all_of(host.begin(), host.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (!ascii) {
    auto converted = ToAscii(host);
    if (!converted) return BadHost();
    host = *std::move(converted);
  }
  for (char& c : host) c = ToLowerAscii(c);
  if (host.ends_with('.')) host.pop_back();
  if (!IsHostName(host)) return BadHost();
  return std::string(WithoutPrefixes(host));
}

StatusOr<std::string> CanonicalIpv6(std::string_view bracketed) {
  const std::string text(bracketed.substr(1, bracketed.size() - 2));
  in6_addr address{};
  if (inet_pton(AF_INET6, text.c_str(), &address) != 1) {
    return Bad("has a host in brackets that is not an IPv6 address");
  }
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  inet_ntop(AF_INET6, &address, buffer.data(), buffer.size());
  return "[" + std::string(buffer.data()) + "]";
}

// ":8080" -> ":8080", and nothing for an empty or default port.
StatusOr<std::string> CanonicalPort(std::string_view port) {
  if (port.empty() || port == ":") return std::string();
  const std::string_view digits = port.substr(1);
  unsigned number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number > 65'535) {
    return Bad("has a port that is not a number from 0 to 65535");
  }
  if (number == 80 || number == 443) return std::string();
  return ":" + std::to_string(number);
}

}  // namespace

StatusOr<std::string> CanonicalAuthority(std::string_view authority) {
  if (const size_t at = authority.rfind('@'); at != std::string_view::npos) {
    authority.remove_prefix(at + 1);
  }
  const bool bracketed = authority.starts_with('[');
  const size_t bracket = authority.find(']');
  if (bracketed && bracket == std::string_view::npos) return BadHost();
  const size_t colon = authority.find(':', bracketed ? bracket : 0);
  const size_t host_end = std::min(colon, authority.size());
  const std::string_view host = authority.substr(0, host_end);
  if (host.empty()) return Bad("has no host; write it as in https://example.com/");
  if (bracketed && host.back() != ']') return BadHost();
  WINNOW_ASSIGN_OR_RETURN(std::string out, bracketed ? CanonicalIpv6(host) : CanonicalName(host));
  WINNOW_ASSIGN_OR_RETURN(const std::string port, CanonicalPort(authority.substr(host_end)));
  return out + port;
}

}  // namespace winnow::url
