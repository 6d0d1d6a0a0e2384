#include "services/polling/records.h"

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

}  // namespace winnow::polling
