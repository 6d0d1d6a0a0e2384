#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "services/classification/comments/comment_records.h"
#include "services/platform/base/clock.h"

namespace winnow::classification {

// The numbers are those of the API, and stored.
enum class RunState {
  kNone = 0,
  kPending = 1,
  kRunning = 2,
  kPaused = 3,
  kComplete = 4,
  kCancelled = 5
};

struct Run {
  int64_t id = 0;
  VideoKey video;
  std::string classifier;
  std::string model;
  std::string policy;
  int64_t policy_version = 0;
  RunState state = RunState::kNone;
  bool activate = false;
  int64_t input_count = 0;
  int64_t classified = 0;
  int64_t failed = 0;
  StatusCounts counts{};
  bool active = false;
  int64_t calls = 0;
  int64_t cost_micros = 0;
  int64_t budget_micros = 0;
  Failure pause_reason = Failure::kNone;
  Time create_time;
  std::optional<Time> end_time;
};

}  // namespace winnow::classification
