#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/dedup/index/overlap.h"
#include "services/dedup/text/title_words.h"
#include "services/platform/base/clock.h"

// Whether two documents report the same story, by everything that was measured of the pair. Pure:
// the same features give the same ruling anywhere.
namespace winnow::dedup {

// What of a document is measured. Spans and views are the caller's.
struct RuleText {
  std::string_view title;  // normalised
  std::span<const index::Token> title_tokens;
  std::span<const index::Token> lead_tokens;  // empty: it has none
};

// What only both normalised titles show: by far the most expensive part of a comparison.
struct TitleFeatures {
  double edit_similarity = 0;
  int leading_words = 0;     // of the two, found in the other title
  double leading_share = 0;  // of the letters of both, from the first on
  // Letters that both have in runs of two or more, but for the longest run, against the shorter
  // title's: a follow-up shares its subject, and says something else of it.
  double shared_elsewhere = 0;
  bool is_korean = false;  // both titles hold Hangul
  bool shares_template = false;
  bool contradicts = false;
};

struct PairFeatures : TitleFeatures {
  double title_jaccard = 0;
  double title_cosine = 0;
  double title_overlap = 0;
  std::optional<double> lead_jaccard;  // where both have a lead
  // Of the tokens that one title alone has, the share that the other's lead has; of both titles the
  // larger one. 0 where no lead is.
  double told_by_lead = 0;
  std::optional<double> semantic;  // EmbedderCalibration::Scale of the cosine
  Micros apart{0};                 // between the two arrivals
};

TitleFeatures TitleFeaturesOf(std::string_view earlier, std::string_view later,
                              const TitleWords& words);
PairFeatures FeaturesOf(const RuleText& earlier, const RuleText& later, Micros apart,
                        const TitleFeatures& titles);

PairFeatures FeaturesOf(const RuleText& earlier, const RuleText& later, Micros apart,
                        const TitleWords& words);

enum class RuleMode {
  kPublished = 1,   // the published thresholds, literally
  kCalibrated = 2,  // one weighed sum of all features, fitted to hand-read pairs
};

struct RuleSettings {
  RuleMode mode = RuleMode::kPublished;
  double token_threshold = 0.8;      // title Jaccard of duplicates
  double floor = 0.5;                // title Jaccard from which other stages look at a pair
  double edit_threshold = 0.85;      // edit similarity of duplicates
  double semantic_threshold = 0.85;  // scaled cosine of duplicates
  double lead_threshold = 0.6;       // lead Jaccard of duplicates; calibrated mode only
  double least_probability = 0.75;   // of one story; calibrated mode only
};

// What decided. Names are the pipeline's.
enum class RuleStage { kNone, kToken, kLead, kEdit, kSemantic };

enum class RuleGuard {
  kTemplate = 1,    // a form filled in for another name
  kContradict = 2,  // negation, opposites or swapped roles
};

struct Ruling {
  RuleStage stage = RuleStage::kNone;  // the first that matched
  double similarity = 0;               // by that stage; else the best there was
  double probability = 0;              // of one story by the calibrated rule, whatever the mode
  std::vector<RuleGuard> guards;       // that fired against the match
  std::string explanation;             // English sentences, for people

  bool is_duplicate() const { return stage != RuleStage::kNone && guards.empty(); }
};

Ruling Rule(const PairFeatures& features, const RuleSettings& settings);

// The calibrated rule's probability that both report one story. Without a cosine it is fitted to
// Korean titles only: for others it is what the published thresholds say, 0 or 1.
double ProbabilityOfOneStory(const PairFeatures& features, const RuleSettings& settings);

}  // namespace winnow::dedup
