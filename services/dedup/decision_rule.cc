#include "services/dedup/decision_rule.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "services/dedup/edit_distance.h"
#include "services/dedup/index/bounds.h"
#include "services/dedup/unicode.h"

namespace winnow::dedup {
namespace {

// Fitted by logistic regression to the hand-read pairs of tests/data/dedup_pairs.txt, each band
// weighed by its share of the stream; tools/dedup/rule_report says what they are worth.
struct Weights {
  double base;
  double title_jaccard;
  double lead_jaccard;
  double no_lead;
  double edit_similarity;
  double no_leading_word;
  double both_leading_words;
  double log_hours;  // of ln(1 + hours apart)
  double semantic;
};
constexpr Weights kLexical = {1.175, 1.14, 6.265, 0.3, 4.609, -1.09, 1.664, -1.828, 0};
constexpr Weights kWithModel = {-13.886, -3.302, 5.78,   -0.559, 2.216,
                                -0.089,  1.127,  -2.093, 21.888};

double Logit(const PairFeatures& f, const Weights& w) {
  const double hours = std::abs(std::chrono::duration<double, std::ratio<3600>>(f.apart).count());
  return w.base + w.title_jaccard * f.title_jaccard +
         (f.lead_jaccard ? w.lead_jaccard * *f.lead_jaccard : w.no_lead) +
         w.edit_similarity * f.edit_similarity + (f.leading_words == 0 ? w.no_leading_word : 0) +
         (f.leading_words == 2 ? w.both_leading_words : 0) + w.log_hours * std::log1p(hours) +
         w.semantic * f.semantic.value_or(0);
}

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", value);
  return text;
}

struct Match {
  RuleStage stage = RuleStage::kNone;
  double similarity = 0;
  std::string why;
};

std::string Reaches(const std::string& what, double value, double threshold) {
  return what + " " + Number(value) + " reaches " + Number(threshold);
}

Match ByPublished(const PairFeatures& f, const RuleSettings& s) {
  if (f.title_jaccard >= s.token_threshold) {
    return {RuleStage::kToken, f.title_jaccard,
            Reaches("title similarity", f.title_jaccard, s.token_threshold)};
  }
  if (f.title_jaccard >= s.floor && f.edit_similarity >= s.edit_threshold) {
    return {RuleStage::kEdit, f.edit_similarity,
            Reaches("edit similarity", f.edit_similarity, s.edit_threshold)};
  }
  if (f.semantic && *f.semantic >= s.semantic_threshold) {
    return {RuleStage::kSemantic, *f.semantic,
            Reaches("semantic similarity", *f.semantic, s.semantic_threshold)};
  }
  return {};
}

Match ByCalibrated(const PairFeatures& f, const RuleSettings& s, double probability) {
  if (f.title_jaccard >= s.token_threshold) return ByPublished(f, s);
  if (f.lead_jaccard && *f.lead_jaccard >= s.lead_threshold) {
    return {RuleStage::kLead, *f.lead_jaccard,
            Reaches("lead similarity", *f.lead_jaccard, s.lead_threshold)};
  }
  if (probability < s.least_probability) return {};
  return {f.semantic ? RuleStage::kSemantic : RuleStage::kEdit, probability,
          Reaches("probability of one story", probability, s.least_probability)};
}

std::string Measures(const PairFeatures& f, double probability) {
  std::string text = "title similarity " + Number(f.title_jaccard) + ", edit similarity " +
                     Number(f.edit_similarity) + ", leading words shared " +
                     std::to_string(f.leading_words) + " of 2, leads " +
                     (f.lead_jaccard ? Number(*f.lead_jaccard) : "not compared") + ", meaning " +
                     (f.semantic ? Number(*f.semantic) : "not compared");
  return text + ", probability of one story " + Number(probability);
}

std::string Explain(const Ruling& ruling, const Match& match, const PairFeatures& f) {
  const std::string measures = " Measured: " + Measures(f, ruling.probability) + ".";
  if (match.stage == RuleStage::kNone) return "UNIQUE: no stage matches." + measures;
  if (ruling.guards.empty()) return "DUPLICATE: " + match.why + "." + measures;
  std::string text = "UNIQUE although " + match.why + ":";
  for (const RuleGuard guard : ruling.guards) {
    text += guard == RuleGuard::kTemplate
                ? " both fill in one form, and neither begins with a name that the other has;"
                : " one denies what the other says, or names have changed places;";
  }
  text.back() = '.';
  return text + measures;
}

bool HasHangul(std::string_view text) {
  const std::u32string points = DecodeUtf8(text);
  return std::any_of(points.begin(), points.end(), IsHangulSyllable);
}

}  // namespace

TitleFeatures TitleFeaturesOf(std::string_view earlier, std::string_view later,
                              const TitleWords& words) {
  TitleFeatures f;
  f.edit_similarity = earlier == later ? 1 : EditSimilarity(DecodeUtf8(earlier), DecodeUtf8(later));
  f.leading_words = words.LeadingWordsShared(earlier, later);
  f.is_korean = HasHangul(earlier) && HasHangul(later);
  f.shares_template = words.ShareTemplate(earlier, later);
  f.contradicts = words.Contradict(earlier, later);
  return f;
}

PairFeatures FeaturesOf(const RuleText& earlier, const RuleText& later, Micros apart,
                        const TitleWords& words) {
  return FeaturesOf(earlier, later, apart, TitleFeaturesOf(earlier.title, later.title, words));
}

PairFeatures FeaturesOf(const RuleText& earlier, const RuleText& later, Micros apart,
                        const TitleFeatures& titles) {
  PairFeatures f;
  static_cast<TitleFeatures&>(f) = titles;
  const auto n = static_cast<uint32_t>(earlier.title_tokens.size());
  const auto m = static_cast<uint32_t>(later.title_tokens.size());
  const uint32_t shared = index::Overlap(earlier.title_tokens, later.title_tokens);
  f.title_jaccard = index::Jaccard(shared, n, m);
  f.title_cosine = index::Cosine(shared, n, m);
  f.title_overlap = index::Containment(shared, n, m);
  if (!earlier.lead_tokens.empty() && !later.lead_tokens.empty()) {
    f.lead_jaccard = index::Jaccard(index::Overlap(earlier.lead_tokens, later.lead_tokens),
                                    static_cast<uint32_t>(earlier.lead_tokens.size()),
                                    static_cast<uint32_t>(later.lead_tokens.size()));
  }
  f.apart = apart;
  return f;
}

double ProbabilityOfOneStory(const PairFeatures& f, const RuleSettings& settings) {
  if (!f.semantic && !f.is_korean) {
    return ByPublished(f, settings).stage == RuleStage::kNone ? 0 : 1;
  }
  return 1 / (1 + std::exp(-Logit(f, f.semantic ? kWithModel : kLexical)));
}

Ruling Rule(const PairFeatures& f, const RuleSettings& settings) {
  Ruling ruling;
  ruling.probability = ProbabilityOfOneStory(f, settings);
  const Match match = settings.mode == RuleMode::kPublished
                          ? ByPublished(f, settings)
                          : ByCalibrated(f, settings, ruling.probability);
  ruling.stage = match.stage;
  ruling.similarity = match.stage == RuleStage::kNone
                          ? std::max(f.title_jaccard, f.semantic.value_or(0))
                          : match.similarity;
  if (match.stage != RuleStage::kNone) {
    if (f.shares_template && f.leading_words == 0) ruling.guards.push_back(RuleGuard::kTemplate);
    if (f.contradicts) ruling.guards.push_back(RuleGuard::kContradict);
  }
  ruling.explanation = Explain(ruling, match, f);
  return ruling;
}

}  // namespace winnow::dedup
