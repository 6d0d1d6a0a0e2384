#pragma once

#include <string>
#include <string_view>

#include "services/platform/base/status.h"

namespace winnow::url {

// "user@WWW.Example.com:443" -> "example.com": lower case, IDN in its ASCII form, IPv6 in its
// shortest, without userinfo, default port, trailing dot and the prefixes of mobile and AMP hosts.
// Applied to its own result it changes nothing. Its error has an empty field.
StatusOr<std::string> CanonicalAuthority(std::string_view authority);

}  // namespace winnow::url
