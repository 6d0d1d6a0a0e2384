#pragma once

#include <optional>
#include <string>

#include "services/platform/base/status.h"
#include "services/platform/process/fd.h"

namespace winnow::pg {

// Locks `path` (made if missing) by flock: held until every copy of the descriptor is closed,
// inherited ones included. Empty when another holds it.
StatusOr<std::optional<Fd>> TryLock(const std::string& path);

}  // namespace winnow::pg
