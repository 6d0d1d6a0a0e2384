#pragma once

#include <cstddef>

#include "services/platform/base/status.h"

namespace winnow {

// Raises this process's soft limit on open files (RLIMIT_NOFILE) to the hard one, or to 1,048,576
// if that is less, and returns what holds then.
StatusOr<size_t> RaiseDescriptorLimit();

// Gives a child the soft limit that the process was started with: not every program is prepared for
// more. Async-signal-safe.
void RestoreDescriptorLimit();

}  // namespace winnow
