#pragma once

#include <string>
#include <string_view>

namespace winnow::url {

// "/a/./b/../amp/" -> "/a": without dot segments (RFC 3986, 5.2.4), trailing slashes, tracking
// parameters that follow a "&" without any "?", and the parts that ask for an AMP form: a trailing
// "/amp" or ".amp" and, unless `keep_leading_amp`, a leading "/amp". Never ends in a slash; may be
// empty. Applied to its own result it changes nothing.
std::string CanonicalPath(std::string_view path, bool keep_leading_amp);

// An AMP cache or viewer shows another site's page under its own host.
bool IsAmpViewer(std::string_view host);
// The address of that page without its scheme, "example.com/story", or nothing.
std::string_view InnerAddress(std::string_view host, std::string_view canonical_path);

}  // namespace winnow::url
