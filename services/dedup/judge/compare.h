#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/dedup/judge/judge.h"

namespace winnow::dedup {

// What one stage says about a pair, whatever the others say.
struct StageResult {
  Stage stage = Stage::kNone;
  bool matched = false;
  double similarity = 0;
  double threshold = 0;
  std::string detail;  // an English sentence, for people
};

// What one mode of the decision rule says about a pair.
struct ModeResult {
  RuleMode mode = RuleMode::kPublished;
  Verdict verdict = Verdict::kUnique;
  Stage stage = Stage::kNone;
  std::string explanation;  // English sentences, for people
};

// What would be decided about a later document if the earlier one were all that is known, and why.
struct Comparison {
  Verdict verdict = Verdict::kUnique;
  Scores scores;
  std::vector<StageResult> stages;  // all, in the order in which they run
  std::vector<Guard> guards;        // that fired against the first stage that matched
  std::vector<ModeResult> modes;    // the published one, then the calibrated one
  std::string explanation;          // English sentences, for people
};

struct Pair {
  const Fingerprint& earlier;
  const Fingerprint& later;
  bool is_one_channel = false;
  Micros apart{0};                 // between the arrivals, as far as they are known
  std::optional<double> semantic;  // EmbedderCalibration::Scale of the cosine
  std::string meaning = {};        // what was, or was not, compared of it, for people
};

Comparison Compare(const Pair& pair, const Policy& policy, const TitleWords& words);

}  // namespace winnow::dedup
