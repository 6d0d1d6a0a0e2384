#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace winnow::app {

// What became of the lines of an import:
//   lines = refused + already_present + accepted + duplicates (+ undecided).
struct Tally {
  int64_t lines = 0;
  std::map<std::string, int64_t> refused_by_reason;
  int64_t already_present = 0;
  int64_t accepted = 0;
  int64_t duplicates = 0;

  int64_t refused() const {
    int64_t sum = 0;
    for (const auto& [reason, count] : refused_by_reason) sum += count;
    return sum;
  }
  // Stored, and DedupService has not decided yet.
  int64_t undecided() const { return lines - refused() - already_present - accepted - duplicates; }
};

}  // namespace winnow::app
