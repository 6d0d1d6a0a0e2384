#pragma once

#include <chrono>
#include <cstddef>

#include "services/platform/process/metrics.h"

namespace winnow::log {

// What a server writes with, so that a standard error that nobody reads holds up no call and no
// stop: while it lives, a thread of its own writes the lines, which wait in a bounded buffer. Lines
// beyond it are dropped and counted, and a line says how many once standard error flows again.
// Before and after its life each line is written by who has it. There is one at a time.
class LogWriter {
 public:
  LogWriter();
  // Waits for what is not written yet, at most kFlushLimit; what nobody has read then is left to
  // the thread, which ends with the process.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Whether all that was said until now has been written within kFlushLimit.
  static bool Flush();

  static constexpr std::chrono::seconds kFlushLimit{1};
  static constexpr size_t kMaxBytes = size_t{1} << 20;
};

// Where dropped lines are counted; null: nowhere. The counter lives until another is named.
void CountDroppedIn(Counter* dropped);

}  // namespace winnow::log
