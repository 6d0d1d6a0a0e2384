#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace winnow {

// Text of a named encoding as UTF-8, by ICU; what it cannot mean becomes U+FFFD. Names are read as
// browsers read them: "euc-kr", "ks_c_5601-1987" and the like are windows-949 (CP949), which is
// what pages that say so are written in; "iso-8859-1" and "us-ascii" are windows-1252. Nothing for
// an unknown encoding.
std::optional<std::string> DecodeToUtf8(std::string_view bytes, std::string_view charset);

// The encoding that a byte order mark at the front indicates: "utf-8", "utf-16le", "utf-16be";
// empty for none. `size`: bytes of the mark.
std::string_view CharsetOfMark(std::string_view bytes, size_t& size);

// `charset=` of a Content-Type or of a meta element's content, without quotes; empty for none.
std::string CharsetOfContentType(std::string_view content_type);

// Web text as UTF-8 by the usual order: byte order mark, `transport` (of the Content-Type header),
// `declared` (in the text itself), valid UTF-8, CP949. Either name may be empty or unknown. Text
// that is valid UTF-8 beyond ASCII is UTF-8 whatever `declared` says.
std::string DecodeWebText(std::string_view bytes, std::string_view transport,
                          std::string_view declared);

}  // namespace winnow
