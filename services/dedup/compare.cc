#include "services/dedup/compare.h"

#include <algorithm>
#include <cstdio>

namespace winnow::dedup {
namespace {

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", value);
  return text;
}

std::string Name(Stage stage) {
  switch (stage) {
    case Stage::kUrl:
      return "URL";
    case Stage::kExact:
      return "EXACT";
    case Stage::kToken:
      return "TOKEN";
    case Stage::kNone:
      break;
  }
  return "no stage";
}

std::string Reason(Guard guard) {
  switch (guard) {
    case Guard::kSameChannel:
      return "both are of one channel and only other channels are compared";
    case Guard::kShortTitle:
      return "the title has under " + std::to_string(kShortTitle) +
             " characters and the texts do not begin alike";
    case Guard::kChain:
      return "it is not similar enough to the earlier one's own original";
  }
  return "";
}

StageResult ByUrl(const Fingerprint& earlier, const Fingerprint& later) {
  const bool both = earlier.url_hash != 0 && later.url_hash != 0;
  const bool matched = both && earlier.url_hash == later.url_hash;
  std::string detail = "At least one has no URL.";
  if (both) detail = matched ? "The canonical URLs are equal." : "The canonical URLs differ.";
  return {Stage::kUrl, matched, matched ? 1.0 : 0.0, 1.0, detail};
}

StageResult ByTitle(const Fingerprint& earlier, const Fingerprint& later) {
  const bool both = earlier.title_hash != 0 && later.title_hash != 0;
  const bool matched = both && earlier.title_hash == later.title_hash;
  std::string detail = "Nothing is left of a title once boilerplate is out.";
  if (both) detail = matched ? "The normalised titles are equal." : "The normalised titles differ.";
  return {Stage::kExact, matched, matched ? 1.0 : 0.0, 1.0, detail};
}

StageResult ByTokens(const Fingerprint& earlier, const Fingerprint& later, const Scores& scores,
                     double threshold) {
  const uint32_t shared = index::Overlap(earlier.title, later.title);
  const size_t united = earlier.title.size() + later.title.size() - shared;
  const bool matched = united > 0 && scores.jaccard >= threshold;
  return {Stage::kToken, matched, scores.jaccard, threshold,
          "The titles share " + std::to_string(shared) + " of " + std::to_string(united) +
              " tokens: similarity " + Number(scores.jaccard) +
              (matched ? " reaches " : " is below ") + Number(threshold) + "."};
}

std::string Explain(const Comparison& comparison, const StageResult* match) {
  if (match == nullptr) {
    return "UNIQUE: no stage matches; " + comparison.stages.back().detail;
  }
  if (comparison.guards.empty()) {
    return "DUPLICATE by stage " + Name(match->stage) + ": " + match->detail;
  }
  std::string text = "UNIQUE although stage " + Name(match->stage) + " matches: ";
  for (size_t i = 0; i < comparison.guards.size(); ++i) {
    text += (i == 0 ? "" : "; ") + Reason(comparison.guards[i]);
  }
  return text + ".";
}

}  // namespace

Comparison Compare(const Fingerprint& earlier, const Fingerprint& later, bool is_one_channel,
                   const Policy& policy) {
  Comparison comparison;
  comparison.scores = ScoresOf(earlier.title, later.title);
  comparison.stages = {ByUrl(earlier, later), ByTitle(earlier, later),
                       ByTokens(earlier, later, comparison.scores, policy.token_threshold)};
  const auto match = std::find_if(comparison.stages.begin(), comparison.stages.end(),
                                  [](const StageResult& stage) { return stage.matched; });
  if (match == comparison.stages.end()) {
    comparison.explanation = Explain(comparison, nullptr);
    return comparison;
  }
  const Earlier seen{is_one_channel ? 0U : 1U, earlier.lead, {}};
  comparison.guards = GuardsAgainst(later, 0, seen, match->stage, policy);
  if (comparison.guards.empty()) comparison.verdict = Verdict::kDuplicate;
  comparison.explanation = Explain(comparison, &*match);
  return comparison;
}

}  // namespace winnow::dedup
