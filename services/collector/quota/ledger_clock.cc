#include "services/collector/quota/ledger_clock.h"

#include <algorithm>

namespace winnow::collector {
namespace {

constexpr std::chrono::seconds kSameTime{2};

}  // namespace

void LedgerClock::Anchor(Time own, Time store, Deadline steady) {
  Move(std::min(own, store), steady);
  doubtful_calls_ = 0;
}

void LedgerClock::Observe(Time own, Time store, Deadline steady) {
  const Time both = std::min(own, store);
  if (both - At(steady) > kSameTime) Move(both, steady);
}

void LedgerClock::Follow(Time vendor, Deadline steady) {
  const Time now = At(steady);
  // The call that was just answered is of the vendor's day; those before it may be too.
  if (now - vendor > kSameTime || vendor - now > kSameTime) {
    Move(vendor, steady);
  } else if (!moved_) {
    doubtful_calls_ = 0;
  }
}

void LedgerClock::Move(Time to, Deadline steady) {
  time_ = to;
  steady_ = steady;
  moved_ = true;
}

ClockWord LedgerClock::Read(Deadline steady) const { return {At(steady), moved_, doubtful_calls_}; }

// The state now has what the clock had to say of earlier calls.
void LedgerClock::Granted(bool granted) {
  if (moved_) doubtful_calls_ = 0;
  moved_ = false;
  if (granted) ++doubtful_calls_;
}

Time LedgerClock::At(Deadline steady) const {
  return time_ + duration_cast<Micros>(steady - steady_);
}

}  // namespace winnow::collector
