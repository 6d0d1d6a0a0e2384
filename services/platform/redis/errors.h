#pragma once

#include <chrono>
#include <string>

#include "services/platform/base/status.h"

namespace winnow::redis {

inline constexpr std::chrono::milliseconds kRetryAfter{500};

// Redis cannot be used now. Callers continue without it: it is never the source of truth.
inline Status Away(std::string why) {
  return Unavailable(Reason::kRedisUnavailable, std::move(why), kRetryAfter);
}

}  // namespace winnow::redis
