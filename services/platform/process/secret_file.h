#pragma once

#include <string>
#include <string_view>

#include "services/platform/base/status.h"

namespace winnow {

// The text of a *_file setting without its trailing line break. INVALID_ARGUMENT names `field` and
// the path if the file cannot be read, is empty or larger than 64 KiB.
StatusOr<std::string> ReadSecretFile(const std::string& path, std::string_view field);
}  // namespace winnow
