#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "services/app/import/field_report.h"

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

// The end of an import on standard output, for people.
void PrintReport(const std::string& title, const Tally& tally, const FieldReport& fields,
                 std::chrono::duration<double> time);

// The same as one JSON object, for programs.
void PrintJsonReport(const Tally& tally, const FieldReport& fields,
                     std::chrono::duration<double> time);

}  // namespace winnow::app
