#pragma once

#include <cstddef>
#include <string>

#include "services/platform/base/status.h"

namespace winnow {

// The whole of a file; pipes do too ("--config <(...)"). Error: FAILED_PRECONDITION that says why
// not, without the path.
StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes);

}  // namespace winnow
