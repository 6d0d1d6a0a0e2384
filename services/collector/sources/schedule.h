#pragma once

#include <cstdint>

#include "services/collector/sources/source.h"

// When a source runs next.
namespace winnow::collector {

// What a run means for the time until the next.
struct RunResult {
  Outcome outcome = Outcome::kOk;
  int64_t new_items = 0;
  bool permanent = false;  // nothing will change until the source does
  // The ledger or the vendor said how long there is nothing to do; 0: nothing was said.
  std::chrono::seconds wait{0};
};

struct NextRun {
  std::chrono::seconds wait{0};
  std::chrono::seconds interval{0};  // what the source goes by from now on
  int failures = 0;                  // in a row
  bool blocked = false;              // does not run until it is resumed
};

// Vendors' sources keep their interval. Feeds come sooner while they bring something and later
// while they do not, between interval and max_interval. Failures double the wait, up to six hours.
NextRun PlanNext(const Source& source, const RunResult& result);

}  // namespace winnow::collector
