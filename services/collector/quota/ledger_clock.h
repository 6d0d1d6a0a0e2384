#pragma once

#include <cstdint>

#include "services/collector/quota/quota.h"
#include "services/platform/base/clock.h"

namespace winnow::collector {

// The time that the ledger goes by. Anchored when a process takes over, at the earlier of its own
// clock and the store's, so that one of them alone can jump ahead without harm; from then on it
// runs by a monotonic clock, and follows what vendors say in their Date headers.
class LedgerClock {
 public:
  void Anchor(Time own, Time store, Deadline steady);
  // Moves ahead to where both clocks are: one that was behind was put right.
  void Observe(Time own, Time store, Deadline steady);
  // Dates have whole seconds: differences up to two are none.
  void Follow(Time vendor, Deadline steady);
  // What Reserve is to be asked with; and that it was, and what it answered.
  ClockWord Read(Deadline steady) const;
  void Granted(bool granted);
  Time At(Deadline steady) const;

 private:
  void Move(Time to, Deadline steady);

  Time time_{};
  Deadline steady_{};
  bool moved_ = false;
  int64_t doubtful_calls_ = 0;
};

}  // namespace winnow::collector
