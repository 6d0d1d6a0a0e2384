#include "services/platform/base/url/target.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "services/platform/base/ascii.h"
#include "services/platform/base/url/error_kind.h"

namespace winnow::http {
namespace {

using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

// Empty when the URL has no such part.
std::string Part(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK || text == nullptr) return "";
  std::string copy(text);
  curl_free(text);
  return copy;
}

bool HasControl(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7F; });
}

Status Bad(const std::string& why) { return MakeError(ErrorKind::kBadUrl, why); }

// Takes `text` in, relative to what the URL is already.
Status Set(CURLU* url, const std::string& text) {
  if (text.size() > kMaxUrlBytes) {
    return Bad("is longer than " + std::to_string(kMaxUrlBytes) + " bytes");
  }
  if (HasControl(text)) return Bad("holds control characters");
  // Without an explicit scheme "host:80" would be guessed at; spaces and non-ASCII are real.
  const CURLUcode set = curl_url_set(url, CURLUPART_URL, text.c_str(), CURLU_URLENCODE);
  if (set != CURLUE_OK) return Bad(std::string("is not a valid URL: ") + curl_url_strerror(set));
  return OkStatus();
}

StatusOr<Target> Read(CURLU* url) {
  Target target;
  target.scheme = Part(url, CURLUPART_SCHEME);
  if (target.scheme != "http" && target.scheme != "https") {
    return Bad("must begin with http:// or https://");
  }
  if (!Part(url, CURLUPART_USER).empty() || !Part(url, CURLUPART_PASSWORD).empty()) {
    return Bad("must not hold a user name or password");
  }
  target.host = LowerAscii(Part(url, CURLUPART_HOST));
  if (!target.host.empty() && target.host.back() == '.') target.host.pop_back();
  if (target.host.empty() || !Part(url, CURLUPART_ZONEID).empty()) return Bad("has no usable host");
  const std::string port = Part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), target.port);
  if (error != std::errc() || end != port.data() + port.size() || target.port < 1) {
    return Bad("has no usable port");
  }
  curl_url_set(url, CURLUPART_FRAGMENT, nullptr, 0);
  target.url = Part(url, CURLUPART_URL);
  return target;
}

}  // namespace

StatusOr<Target> ParseTarget(const std::string& url) {
  const Url parsed(curl_url(), &curl_url_cleanup);
  WINNOW_RETURN_IF_ERROR(Set(parsed.get(), url));
  return Read(parsed.get());
}

StatusOr<Target> Resolve(const Target& base, const std::string& location) {
  const Url parsed(curl_url(), &curl_url_cleanup);
  WINNOW_RETURN_IF_ERROR(Set(parsed.get(), base.url));
  WINNOW_RETURN_IF_ERROR(Set(parsed.get(), location));
  return Read(parsed.get());
}

StatusOr<std::string> OriginOf(const std::string& url) {
  WINNOW_ASSIGN_OR_RETURN(const Target target, ParseTarget(url));
  return target.authority();
}

}  // namespace winnow::http
