#include "services/polling/jobs/job_records.h"

#include <algorithm>

namespace winnow::polling {

std::string NameOf(StaleReason reason) {
  switch (reason) {
    case StaleReason::kNone:
      return "";
    case StaleReason::kLeaseLost:
      return "lease_lost";
    case StaleReason::kNoProgress:
      return "no_progress";
    case StaleReason::kDeadline:
      return "deadline";
    case StaleReason::kMaxAttempts:
      return "max_attempts";
    case StaleReason::kPoison:
      return "poison";
  }
  return "";
}

std::string NameOf(Phase phase) {
  switch (phase) {
    case Phase::kWaiting:
      return "waiting";
    case Phase::kLeased:
      return "leased";
    case Phase::kBuried:
      return "buried";
    case Phase::kCompleted:
      return "completed";
    case Phase::kFailed:
      return "failed";
    case Phase::kCancelled:
      return "cancelled";
  }
  return "of no phase";
}

Micros KindStats::DueLag() const {
  Micros lag{0};
  for (const Count& count : counts) {
    if (count.phase == Phase::kWaiting && count.due_since)
      lag = std::max(lag, now - *count.due_since);
  }
  return lag;
}

}  // namespace winnow::polling
