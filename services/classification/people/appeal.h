#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "services/classification/comments/comment_records.h"
#include "services/platform/base/clock.h"

namespace winnow::classification {

// The numbers are those of the API, and stored.
enum class AppealState { kNone = 0, kOpen = 1, kGranted = 2, kRejected = 3 };

struct Appeal {
  int64_t id = 0;
  VideoKey video;
  std::string comment_id;
  CommentStatus status = CommentStatus::kNone;
  AppealState state = AppealState::kNone;
  std::string actor;
  std::string note;
  Time create_time;
  std::string resolver;
  std::string resolve_note;
  std::optional<Time> resolve_time;
};

}  // namespace winnow::classification
