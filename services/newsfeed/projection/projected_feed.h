#pragma once

#include <cstdint>
#include <string>

#include "services/platform/base/clock.h"
#include "services/platform/base/hash.h"

namespace winnow::newsfeed {

// A feed as it was written to Redis last.
struct ProjectedFeed {
  int64_t position = 0;
  std::string epoch;
  Hash128Value checksum;
  Time written_at{};  // by the store, when it is read back
};

}  // namespace winnow::newsfeed
