#pragma once

#include <string>

namespace winnow::test {

// The whole answer, headers and body, to a plain GET at 127.0.0.1:PORT. Throws std::runtime_error
// when there is none.
std::string HttpGet(const std::string& address, const std::string& path);

}  // namespace winnow::test
