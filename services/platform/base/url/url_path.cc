#include "services/platform/base/url/url_path.h"

#include <algorithm>
#include <array>
#include <span>

#include "services/platform/base/url/url_query.h"

namespace winnow::url {
namespace {

constexpr std::string_view kLeadingAmp = "/amp";

std::string WithoutDotSegments(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  while (!path.empty()) {
    const size_t end = std::min(path.find('/', 1), path.size());
    const std::string_view segment = path.substr(0, end);  // with its leading slash
    path.remove_prefix(end);
    if (segment == "/..") out.resize(out.empty() ? 0 : out.rfind('/'));
    if (segment != "/." && segment != "/..") {
      out += segment;
    } else if (path.empty()) {
      out += '/';
    }
  }
  return out;
}

// `path` with `size` bytes less at its end, unless its last segment would become a dot segment.
std::string_view Shortened(std::string_view path, size_t size) {
  const std::string_view rest = path.substr(0, path.size() - size);
  return rest.ends_with("/.") || rest.ends_with("/..") ? path : rest;
}

std::string_view WithoutTrailingParameter(std::string_view path) {
  const size_t ampersand = path.find_last_of("&/");
  if (ampersand == std::string_view::npos || path[ampersand] == '/') return path;
  const std::string_view parameter = path.substr(ampersand + 1);
  const bool named = parameter.find('=') != std::string_view::npos;
  if (!parameter.empty() && !(named && IsTrackingParameter(parameter))) return path;
  return Shortened(path, path.size() - ampersand);
}

// Takes all suffixes at once: looking for parameters between each two would be quadratic.
std::string_view WithoutAmpSuffixes(std::string_view path) {
  while (path.ends_with("/amp")) path.remove_suffix(4);
  while (path.ends_with(".amp") && !path.ends_with("/.amp")) {
    const std::string_view shorter = Shortened(path, 4);
    if (shorter.size() == path.size()) break;
    path = shorter;
  }
  return path;
}

std::string_view WithoutTail(std::string_view path) {
  for (size_t before = path.size() + 1; path.size() < before;) {
    before = path.size();
    while (path.ends_with('/')) path.remove_suffix(1);
    path = WithoutAmpSuffixes(WithoutTrailingParameter(path));
  }
  return path;
}

bool IsGoogle(std::string_view host) {
  return host.starts_with("google.");  // google.com, google.co.kr
}

bool IsAmpCache(std::string_view host) {
  return host == "cdn.ampproject.org" || host.ends_with(".cdn.ampproject.org");
}

}  // namespace

std::string CanonicalPath(std::string_view path, bool keep_leading_amp) {
  const std::string plain = WithoutDotSegments(path);
  std::string_view rest = WithoutTail(plain);
  while (!keep_leading_amp && rest.starts_with("/amp/")) rest.remove_prefix(kLeadingAmp.size());
  return std::string(rest);
}

bool IsAmpViewer(std::string_view host) { return IsGoogle(host) || IsAmpCache(host); }

std::string_view InnerAddress(std::string_view host, std::string_view canonical_path) {
  constexpr std::array<std::string_view, 2> kOfGoogle = {"/amp/s/", "/amp/"};
  constexpr std::array<std::string_view, 4> kOfCache = {"/c/s/", "/v/s/", "/c/", "/v/"};
  std::span<const std::string_view> prefixes;
  if (IsGoogle(host)) prefixes = kOfGoogle;
  if (IsAmpCache(host)) prefixes = kOfCache;
  for (const std::string_view prefix : prefixes) {
    if (!canonical_path.starts_with(prefix)) continue;
    const std::string_view inner = canonical_path.substr(prefix.size());
    const std::string_view inner_host = inner.substr(0, inner.find('/'));
    if (inner_host.find('.') != std::string_view::npos) return inner;
  }
  return {};
}

}  // namespace winnow::url
