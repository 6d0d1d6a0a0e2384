#include "services/dedup/judge/compare.h"

#include <cstdio>

#include "services/dedup/pair/character_overlap.h"

namespace winnow::dedup {
namespace {

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", value);
  return text;
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
    case Guard::kTemplate:
      return "both fill in one form, and neither begins with a name that the other has";
    case Guard::kContradiction:
      return "one denies what the other says, or names have changed places";
  }
  return "";
}

StageResult ByUrl(const Pair& pair) {
  const bool both = pair.earlier.url_hash != 0 && pair.later.url_hash != 0;
  const bool matched = both && pair.earlier.url_hash == pair.later.url_hash;
  std::string detail = "At least one has no URL.";
  if (both) detail = matched ? "The canonical URLs are equal." : "The canonical URLs differ.";
  return {Stage::kUrl, matched, matched ? 1.0 : 0.0, 1.0, detail};
}

StageResult ByTitle(const Pair& pair) {
  const bool both = pair.earlier.title_hash != 0 && pair.later.title_hash != 0;
  const bool matched = both && pair.earlier.title_hash == pair.later.title_hash;
  std::string detail = "Nothing is left of a title once boilerplate is out.";
  if (both) detail = matched ? "The normalised titles are equal." : "The normalised titles differ.";
  return {Stage::kExact, matched, matched ? 1.0 : 0.0, 1.0, detail};
}

std::string Reaches(double value, double threshold) {
  return Number(value) + (value >= threshold ? " reaches " : " is below ") + Number(threshold);
}

StageResult ByTokens(const Pair& pair, const PairFeatures& f, double threshold) {
  const uint32_t shared = index::Overlap(pair.earlier.title, pair.later.title);
  const size_t united = pair.earlier.title.size() + pair.later.title.size() - shared;
  const bool matched = united > 0 && f.title_jaccard >= threshold;
  return {Stage::kToken, matched, f.title_jaccard, threshold,
          "The titles share " + std::to_string(shared) + " of " + std::to_string(united) +
              " tokens: similarity " + Reaches(f.title_jaccard, threshold) + "."};
}

StageResult ByLead(const PairFeatures& f, const Policy& policy) {
  StageResult result{Stage::kLead, false, f.lead_jaccard.value_or(0), policy.lead_threshold, ""};
  if (policy.rule_mode != RuleMode::kCalibrated) {
    result.detail = "Leads decide in the calibrated mode alone.";
  } else if (!f.lead_jaccard) {
    result.detail = "At least one has no lead.";
  } else {
    result.matched = *f.lead_jaccard >= policy.lead_threshold;
    result.detail =
        "Similarity of the leads: " + Reaches(*f.lead_jaccard, policy.lead_threshold) + ".";
  }
  return result;
}

StageResult ByEdits(const PairFeatures& f, const Policy& policy) {
  StageResult result{Stage::kEdit, false, f.edit_similarity, policy.edit_threshold, ""};
  if (f.title_jaccard < policy.candidate_floor) {
    result.detail = "Title similarity " + Number(f.title_jaccard) + " is below the floor " +
                    Number(policy.candidate_floor) + ", from which edits are counted.";
  } else {
    result.matched = f.edit_similarity >= policy.edit_threshold;
    result.detail =
        "Similarity by edits: " + Reaches(f.edit_similarity, policy.edit_threshold) + ".";
  }
  return result;
}

StageResult ByMeaning(const Pair& pair, const PairFeatures& f, const Policy& policy) {
  StageResult result{Stage::kSemantic, false, f.semantic.value_or(0), policy.semantic_threshold,
                     ""};
  if (!f.semantic) {
    result.detail = pair.meaning.empty() ? "No embedder compared them." : pair.meaning;
  } else {
    result.matched = *f.semantic >= policy.semantic_threshold;
    result.detail =
        "Similarity of meaning: " + Reaches(*f.semantic, policy.semantic_threshold) + ".";
    if (!pair.meaning.empty()) result.detail += " " + pair.meaning;
  }
  return result;
}

// What stands, and by which stage, in a mode.
struct Outcome {
  Stage stage = Stage::kNone;
  std::vector<Guard> guards;
  std::string explanation;
};

Outcome Decide(const Pair& pair, const PairFeatures& f, const std::vector<StageResult>& literal,
               Policy policy, RuleMode mode) {
  policy.rule_mode = mode;
  const Ruling ruling = Rule(f, SettingsOf(policy));
  Outcome outcome{StageOf(ruling.stage), {}, ruling.explanation};
  std::string match = "its stage";
  for (const StageResult& stage : literal) {
    if (!stage.matched) continue;
    outcome.stage = stage.stage;
    outcome.explanation = "DUPLICATE: " + stage.detail;
    break;
  }
  if (outcome.stage == Stage::kNone) return outcome;
  const Earlier seen{pair.is_one_channel ? 0U : 1U, pair.earlier.lead, {}};
  outcome.guards = GuardsAgainst(pair.later, 0, seen, outcome.stage, policy);
  if (outcome.stage != Stage::kUrl && outcome.stage != Stage::kExact) {
    for (const RuleGuard guard : ruling.guards) outcome.guards.push_back(GuardOf(guard));
  }
  if (outcome.guards.empty()) return outcome;
  const std::string matched = outcome.explanation;
  outcome.explanation = "UNIQUE although a stage matches: ";
  for (size_t i = 0; i < outcome.guards.size(); ++i) {
    outcome.explanation += (i == 0 ? "" : "; ") + Reason(outcome.guards[i]);
  }
  outcome.explanation += ". " + matched;
  return outcome;
}

Verdict VerdictOf(const Outcome& outcome) {
  return outcome.stage != Stage::kNone && outcome.guards.empty() ? Verdict::kDuplicate
                                                                 : Verdict::kUnique;
}

}  // namespace

Comparison Compare(const Pair& pair, const Policy& policy, const TitleWords& words) {
  const Fingerprint& a = pair.earlier;
  const Fingerprint& b = pair.later;
  PairFeatures f = FeaturesOf({a.normalized_title, a.title, a.lead},
                              {b.normalized_title, b.title, b.lead}, pair.apart, words);
  f.semantic = pair.semantic;
  Comparison comparison;
  comparison.scores = ScoresOf(f, SettingsOf(policy));
  comparison.scores.characters = CharacterSimilarity(a.normalized_title, b.normalized_title);
  const std::vector<StageResult> literal = {ByUrl(pair), ByTitle(pair)};
  comparison.stages = literal;
  comparison.stages.push_back(ByTokens(pair, f, policy.token_threshold));
  comparison.stages.push_back(ByLead(f, policy));
  comparison.stages.push_back(ByEdits(f, policy));
  comparison.stages.push_back(ByMeaning(pair, f, policy));
  for (const RuleMode mode : {RuleMode::kPublished, RuleMode::kCalibrated}) {
    Outcome outcome = Decide(pair, f, literal, policy, mode);
    const Verdict verdict = VerdictOf(outcome);
    comparison.modes.push_back({mode, verdict, outcome.stage, outcome.explanation});
    if (mode != policy.rule_mode) continue;
    comparison.verdict = verdict;
    comparison.guards = std::move(outcome.guards);
    comparison.explanation = std::move(outcome.explanation);
  }
  return comparison;
}

}  // namespace winnow::dedup
