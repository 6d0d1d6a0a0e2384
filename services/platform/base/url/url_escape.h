#pragma once

#include <string>
#include <string_view>

namespace winnow::url {

// One spelling of percent-encoding (RFC 3986, section 6.2.2): unreserved characters as themselves,
// everything that no address may hold encoded, upper-case hex. Surrounding spaces and line breaks
// anywhere go, as browsers have it. Applied twice it is as applied once.
std::string NormalizeEscapes(std::string_view address);

// "&amp;" and its numeric forms to "&", also when escaped several times over.
void UnescapeAmpersands(std::string& address);

// `text` without the "amp;" that an escaped "&" left at its front.
std::string_view WithoutAmpersandRest(std::string_view text);

// %XX to bytes; a '%' that is not followed by two hex digits stays.
std::string DecodeEscapes(std::string_view text);

}  // namespace winnow::url
