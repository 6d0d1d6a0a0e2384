#include "services/platform/base/url/url.h"

#include <algorithm>
#include <utility>

#include "services/platform/base/ascii.h"
#include "services/platform/base/url/url_escape.h"
#include "services/platform/base/url/url_host.h"
#include "services/platform/base/url/url_path.h"
#include "services/platform/base/url/url_query.h"

namespace winnow {
namespace {

// AMP viewers within AMP viewers; one is usual.
constexpr int kMaxViewers = 4;

Status Bad(std::string description) { return InvalidField("", std::move(description)); }

struct Location {
  std::string authority;
  std::string path;
};

// What follows "https:" or "http:" and its slashes.
StatusOr<std::string_view> WithoutScheme(std::string_view address) {
  const size_t colon = address.find(':');
  std::string scheme(address.substr(0, std::min<size_t>(colon, 8)));
  for (char& c : scheme) c = ToLowerAscii(c);
  const bool web = colon != std::string_view::npos && (scheme == "https" || scheme == "http");
  if (!web || !address.substr(colon + 1).starts_with("//")) {
    return Bad("must be an absolute address that begins with https:// or http://");
  }
  return address.substr(colon + 3);
}

// `address` is "authority/path".
StatusOr<Location> Locate(std::string_view address) {
  const size_t slash = std::min(address.find('/'), address.size());
  WINNOW_ASSIGN_OR_RETURN(std::string authority, url::CanonicalAuthority(address.substr(0, slash)));
  std::string path = url::CanonicalPath(address.substr(slash), url::IsAmpViewer(authority));
  return Location{std::move(authority), std::move(path)};
}

StatusOr<Location> LocateBehindViewers(std::string_view address) {
  WINNOW_ASSIGN_OR_RETURN(Location location, Locate(address));
  for (int i = 0; i < kMaxViewers; ++i) {
    const std::string_view inner = url::InnerAddress(location.authority, location.path);
    if (inner.empty()) return location;
    WINNOW_ASSIGN_OR_RETURN(location, Locate(inner));
  }
  if (url::InnerAddress(location.authority, location.path).empty()) return location;
  return Bad("is an AMP address within too many others; give the address of the page itself");
}

}  // namespace

StatusOr<std::string> CanonicalUrl(std::string_view url) {
  std::string address = url::NormalizeEscapes(url);
  url::UnescapeAmpersands(address);
  WINNOW_ASSIGN_OR_RETURN(std::string_view rest, WithoutScheme(address));
  rest = rest.substr(0, rest.find('#'));
  const size_t question = std::min(rest.find('?'), rest.size());
  WINNOW_ASSIGN_OR_RETURN(const Location location, LocateBehindViewers(rest.substr(0, question)));
  const std::string query = url::CanonicalQuery(rest.substr(std::min(question + 1, rest.size())));
  std::string out;
  out.reserve(10 + location.authority.size() + location.path.size() + query.size());
  out.append("https://").append(location.authority).append(location.path);
  if (!query.empty()) out.append("?").append(query);
  return out;
}

}  // namespace winnow
