#pragma once

#include <string>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"

namespace winnow::newsfeed {

// DedupService found that item `duplicate` repeats item `original`.
struct Citation {
  std::string ns;
  std::string original;
  std::string duplicate;
  std::string channel;
  std::string url;
  Time arrival_time;
};

inline constexpr size_t kMaxCitationChannels = 100;

// INVALID_ARGUMENT with all violations.
Status Check(const Citation& citation);

}  // namespace winnow::newsfeed
