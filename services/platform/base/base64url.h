#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace winnow {

// RFC 4648 base64url without padding.
std::string EncodeBase64Url(std::string_view bytes);

// Nothing unless `text` is what EncodeBase64Url writes: one text per value, so that two different
// tokens never mean the same.
std::optional<std::string> DecodeBase64Url(std::string_view text);

}  // namespace winnow
