#pragma once

#include <cstdint>

namespace winnow::newsfeed {

// Pages of feeds by who served them, since the process started.
struct PageCounts {
  int64_t memory = 0;
  int64_t spliced = 0;  // memory and the store
  int64_t store = 0;
};

}  // namespace winnow::newsfeed
