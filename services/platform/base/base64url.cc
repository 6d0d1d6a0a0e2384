#include "services/platform/base/base64url.h"

#include "absl/strings/escaping.h"

namespace winnow {

std::string EncodeBase64Url(std::string_view bytes) {
  return absl::WebSafeBase64Escape({bytes.data(), bytes.size()});
}

std::optional<std::string> DecodeBase64Url(std::string_view text) {
  // Abseil takes padding, white space and bits left over too.
  std::string bytes;
  if (!absl::WebSafeBase64Unescape({text.data(), text.size()}, &bytes) ||
      EncodeBase64Url(bytes) != text) {
    return std::nullopt;
  }
  return bytes;
}

}  // namespace winnow
