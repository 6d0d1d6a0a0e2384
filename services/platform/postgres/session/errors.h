#pragma once

#include <string>

#include "services/platform/base/status.h"

// The one place where what PostgreSQL and its driver say becomes a Status.
namespace winnow::pg {

inline constexpr std::chrono::milliseconds kRetryAfter(1000);

struct Failure {
  Status status;
  bool connection_lost = false;  // or of no more use: drop it
  bool may_retry = false;        // serialization failure or deadlock: the transaction is undone
};

// To be called in a catch block. `statement`: the name of the one that threw. The driver's text is
// logged or kept as detail, and never part of what a caller sees.
Failure ClassifyCurrentException(const std::string& statement);

// By SQLSTATE alone; `detail` as above.
Failure ClassifySqlState(const std::string& sqlstate, const std::string& detail);

Status Away();

}  // namespace winnow::pg
