#pragma once

#include <string>
#include <string_view>

#include "services/platform/base/status.h"

namespace winnow {

// The form under which two addresses of one page meet: scheme https, lower-case host without
// "www.", "m." and "mobile.", no default port, no userinfo, no fragment, no tracking parameters
// (utm_*, fbclid, ref, rss, ...), the other parameters sorted, "&amp;" read as "&", AMP forms
// undone, no trailing slash. Its error is INVALID_ARGUMENT with one violation whose field is empty:
// the caller names the field.
StatusOr<std::string> CanonicalUrl(std::string_view url);

}  // namespace winnow
