#pragma once

#include <string>
#include <string_view>

namespace winnow::url {

// Whether a parameter ("utm_source=rss") only says where a reader came from, or asks for the AMP
// form of the page.
bool IsTrackingParameter(std::string_view parameter);

// "b=2&utm_source=x&a=1" -> "a=1&b=2": without tracking parameters, sorted by name; those of one
// name keep their order.
std::string CanonicalQuery(std::string_view query);

}  // namespace winnow::url
