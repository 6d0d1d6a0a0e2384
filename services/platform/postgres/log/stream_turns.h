#pragma once

#include <memory>
#include <string>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"

namespace winnow::pg {

// One log transaction in flight per pool and stream: the others wait without a connection.
// Holds the turn until destroyed. OVERLOADED when it does not come by the deadline.
StatusOr<std::shared_ptr<void>> TakeTurn(const void* pool, const std::string& stream,
                                         Deadline deadline);

}  // namespace winnow::pg
