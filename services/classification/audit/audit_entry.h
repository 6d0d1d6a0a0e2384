#pragma once

#include <cstdint>
#include <string>

#include "services/platform/base/clock.h"

namespace winnow::classification {

// The caller that makes a change, and its note.
struct Actor {
  std::string actor;
  std::string note{};
};

// One entry of the audit log. A field that does not apply is 0 or empty.
struct AuditEntry {
  int64_t id = 0;
  std::string video_id{};
  std::string comment_id{};
  int64_t run = 0;
  int64_t appeal = 0;
  std::string actor{};
  std::string action{};
  std::string before{};
  std::string after{};
  std::string note{};
  Time create_time{};
};

}  // namespace winnow::classification
