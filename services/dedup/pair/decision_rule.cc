#include "services/dedup/pair/decision_rule.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

#include "services/dedup/index/bounds.h"
#include "services/dedup/pair/edit_distance.h"
#include "services/dedup/text/unicode.h"

namespace winnow::dedup {
namespace {

// Fitted by logistic regression to the hand-read pairs of tests/data/dedup_pairs.txt that are not
// held out, each band the same, and within it what the rule before this one thought of them by its
// share of the stream; what the guard against forms holds back counts a third where a model helps.
// Features standardised, L2 of 1. tools/dedup/rule_report says what they are worth. Edit similarity
// is not among them: beside the others it adds nothing.
struct Weights {
  double base;
  double title_jaccard;
  double lead_jaccard;
  double no_lead;
  double leading_share;
  double log_hours;  // of ln(1 + hours apart)
  double shared_elsewhere;
  double told_by_lead;
  double semantic;
};
constexpr Weights kLexical = {-2.058, 6.972, 4.758, 1.091, 3.003, -1.272, 3.646, 2.049, 0};
constexpr Weights kWithModel = {-7.091, 3.17, 5.294, 1.002, 2.022, -1.419, 2.355, 2.042, 8.836};

double Logit(const PairFeatures& f, const Weights& w) {
  const double hours = std::abs(std::chrono::duration<double, std::ratio<3600>>(f.apart).count());
  return w.base + w.title_jaccard * f.title_jaccard +
         (f.lead_jaccard ? w.lead_jaccard * *f.lead_jaccard : w.no_lead) +
         w.leading_share * f.leading_share + w.log_hours * std::log1p(hours) +
         w.shared_elsewhere * f.shared_elsewhere + w.told_by_lead * f.told_by_lead +
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
  std::string text =
      "title similarity " + Number(f.title_jaccard) + ", edit similarity " +
      Number(f.edit_similarity) + ", leading words shared " + std::to_string(f.leading_words) +
      " of 2, their letters " + Number(f.leading_share) + ", letters shared elsewhere " +
      Number(f.shared_elsewhere) + ", found in the other's lead " + Number(f.told_by_lead) +
      ", leads " + (f.lead_jaccard ? Number(*f.lead_jaccard) : "not compared") + ", meaning " +
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

bool HasHangul(std::u32string_view text) {
  return std::any_of(text.begin(), text.end(), IsHangulSyllable);
}

using Letters = std::pair<char32_t, char32_t>;

// How many characters of `text` are in runs of two or more whose pairs the other has, but for the
// longest run.
size_t SharedElsewhere(std::u32string_view text, const std::vector<Letters>& other) {
  size_t shared = 0;
  size_t longest = 0;
  size_t run = 0;
  for (size_t i = 1; i <= text.size(); ++i) {
    const bool goes_on = i < text.size() && std::binary_search(other.begin(), other.end(),
                                                               Letters{text[i - 1], text[i]});
    if (goes_on) {
      run += run == 0 ? 2 : 1;
    } else {
      shared += run;
      longest = std::max(longest, run);
      run = 0;
    }
  }
  return shared - longest;
}

std::vector<Letters> LettersOf(std::u32string_view text) {
  std::vector<Letters> letters;
  for (size_t i = 1; i < text.size(); ++i) letters.emplace_back(text[i - 1], text[i]);
  std::sort(letters.begin(), letters.end());
  return letters;
}

double SharedElsewhere(std::u32string a, std::u32string b) {
  std::erase(a, U' ');
  std::erase(b, U' ');
  if (a.empty() || b.empty()) return 0;
  const size_t shared =
      std::min(SharedElsewhere(a, LettersOf(b)), SharedElsewhere(b, LettersOf(a)));
  return static_cast<double>(shared) / static_cast<double>(std::min(a.size(), b.size()));
}

// Of the tokens that `title` has and `other` has not, the share that the other's lead has.
double ToldByLead(std::span<const index::Token> title, std::span<const index::Token> other,
                  std::span<const index::Token> lead) {
  if (lead.empty()) return 0;
  int own = 0;
  int shared = 0;
  for (const index::Token token : title) {
    if (std::binary_search(other.begin(), other.end(), token)) continue;
    ++own;
    if (std::binary_search(lead.begin(), lead.end(), token)) ++shared;
  }
  return own == 0 ? 1 : static_cast<double>(shared) / own;
}

}  // namespace

TitleFeatures TitleFeaturesOf(std::string_view earlier, std::string_view later,
                              const TitleWords& words) {
  TitleFeatures f;
  const std::u32string first = DecodeUtf8(earlier);
  const std::u32string second = DecodeUtf8(later);
  f.edit_similarity = earlier == later ? 1 : EditSimilarity(first, second);
  f.leading_words = words.LeadingWordsShared(earlier, later);
  f.leading_share = words.LeadingShare(earlier, later);
  f.shared_elsewhere = SharedElsewhere(first, second);
  f.is_korean = HasHangul(first) && HasHangul(second);
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
  f.told_by_lead =
      std::max(ToldByLead(earlier.title_tokens, later.title_tokens, later.lead_tokens),
               ToldByLead(later.title_tokens, earlier.title_tokens, earlier.lead_tokens));
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
