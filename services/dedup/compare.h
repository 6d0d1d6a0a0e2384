#pragma once

#include <string>
#include <vector>

#include "services/dedup/judge.h"

namespace winnow::dedup {

// What one stage says about a pair, whatever the others say.
struct StageResult {
  Stage stage = Stage::kNone;
  bool matched = false;
  double similarity = 0;
  double threshold = 0;
  std::string detail;  // an English sentence, for people
};

// What would be decided about a later document if the earlier one were all that is known, and why.
struct Comparison {
  Verdict verdict = Verdict::kUnique;
  Scores scores;
  std::vector<StageResult> stages;  // all, in the order in which they run
  std::vector<Guard> guards;        // that fired against the first stage that matched
  std::string explanation;          // an English sentence, for people
};

Comparison Compare(const Fingerprint& earlier, const Fingerprint& later, bool is_one_channel,
                   const Policy& policy);

}  // namespace winnow::dedup
