#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "services/collector/sources/vendor.h"
#include "services/platform/base/clock.h"

// The ledger of calls that a vendor allows: plain rules over a state that the store keeps. Every
// call is reserved before it is made; what the vendor says of its own count only ever tightens it.
namespace winnow::collector {

struct QuotaLimits {
  int64_t per_second = 0;   // 0, here and below: no such limit
  int64_t per_quarter = 0;  // in any 15 minutes
  int64_t per_day = 0;
  std::chrono::seconds reset{0};  // when the vendor's day begins, after 00:00 UTC; may be negative
};

struct QuotaState {
  Time day_begin{};  // of the vendor's day that day_used counts
  int64_t day_used = 0;
  std::vector<Time> recent;  // calls of the last 15 minutes or second, oldest first
  Time blocked_until{};      // no calls before
  Outcome blocked_by = Outcome::kNone;
};

// A vendor's day begins and ends by its clock and a request takes time to arrive: no call is made
// that close to it.
inline constexpr std::chrono::seconds kResetGuard{5};
// A second, with room for calls that arrive closer together than they were sent.
inline constexpr std::chrono::milliseconds kSecondWindow{1'100};
inline constexpr std::chrono::minutes kQuarterWindow{15};

struct Grant {
  bool granted = false;
  Time retry_at{};               // when it is not: worth asking again
  Outcome why = Outcome::kNone;  // when it is not: kRate, kQuotaDay, kAuth
};

// When the day that holds `now` began, and when the next begins.
Time DayBegin(const QuotaLimits& limits, Time now);
Time NextReset(const QuotaLimits& limits, Time now);

// What a ledger's clock says, and how far its earlier words hold.
struct ClockWord {
  Time now{};
  // It was put right since it last spoke: the ages of earlier calls are not known.
  bool moved = false;
  // Calls that were made since it last learned the vendor's time: they may be of another day than
  // they were counted for.
  int64_t doubtful_calls = 0;
};

// One call, now: counted when granted. A clock that was set back makes calls wait, never too many.
Grant Reserve(QuotaState& state, const QuotaLimits& limits, const ClockWord& clock);

// Calls that are left of the day, as of `now`.
int64_t DayLeft(const QuotaState& state, const QuotaLimits& limits, Time now);

// What the headers of an answer say is left.
struct VendorCount {
  std::optional<int64_t> quarter_left;
  std::optional<int64_t> day_left;
};
void Correct(QuotaState& state, const QuotaLimits& limits, const VendorCount& count, Time now);

// No calls until the vendor's next reset, or until `until`. The longer of two blocks counts.
void BlockUntilReset(QuotaState& state, const QuotaLimits& limits, Time now);
void BlockUntil(QuotaState& state, Time until, Outcome why);

}  // namespace winnow::collector
