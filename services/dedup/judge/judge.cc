#include "services/dedup/judge/judge.h"

#include <algorithm>
#include <unordered_map>

namespace winnow::dedup {
namespace {

using index::EntryRef;
using index::Match;
using index::WindowIndex;

// Candidates below the token threshold that the decision rule looks at, the most similar ones.
constexpr size_t kMaxRuled = 100;
// Scaled cosine from which the calibrated rule looks at a pair that nothing else brought up: below
// it hardly any pair is one story.
constexpr double kMeaningFloor = 0.4;
// The looser bound of a chain: a duplicate's duplicate has to mean nearly what the original does.
constexpr double kChainMeaning = 0.7;
// The scan's cosines are float, those that decide double.
constexpr double kScanError = 1e-5;

// A candidate as the decision rule sees it.
struct Ruled {
  EntryRef ref;
  int64_t seq = 0;
  Scores scores;
  Ruling ruling;
};

bool LeadsAgree(std::span<const index::Token> a, std::span<const index::Token> b) {
  if (a.empty() || b.empty()) return false;
  return index::Jaccard(index::Overlap(a, b), static_cast<uint32_t>(a.size()),
                        static_cast<uint32_t>(b.size())) >= kLeadAgreement;
}

double JaccardOf(std::span<const index::Token> a, std::span<const index::Token> b) {
  if (a.empty() || b.empty()) return 0;
  return index::Jaccard(index::Overlap(a, b), static_cast<uint32_t>(a.size()),
                        static_cast<uint32_t>(b.size()));
}

struct Older {
  const WindowIndex& window;
  bool operator()(EntryRef a, EntryRef b) const { return window.seq(a) < window.seq(b); }
};

class Judging {
 public:
  Judging(const Fingerprint& print, uint32_t channel, Time arrival, const WindowIndex& window,
          const JudgeRules& rules)
      : print_(print),
        channel_(channel),
        arrival_(arrival),
        window_(window),
        policy_(rules.policy),
        settings_(SettingsOf(rules.policy)),
        words_(rules.words),
        meaning_(rules.meaning) {}

  // Where the comparison begins: the window's edge, or later where the policy takes only the newest
  // documents.
  std::optional<EntryRef> Edge() const {
    const std::optional<EntryRef> edge = window_.EdgeAt(arrival_ - policy_.window);
    if (!edge || policy_.newest_documents == 0) return edge;
    const EntryRef newest = window_.EntryFromNewest(static_cast<size_t>(policy_.newest_documents));
    return window_.seq(newest) > window_.seq(*edge) ? newest : edge;
  }

  // Whether the earliest entry of equal URL exists: the page is the same whatever the source.
  bool ByUrl(EntryRef edge) {
    if (print_.url_hash == 0) return false;
    std::vector<EntryRef> found;
    window_.FindByUrl(print_.url_hash, edge, found);
    const auto first = std::min_element(found.begin(), found.end(), Older{window_});
    return first != found.end() && Consider(*first, Stage::kUrl);
  }

  // An equal title has all its tokens in common, so one look-up answers most probes.
  bool ByTitle(EntryRef edge) {
    if (print_.title_hash == 0) return false;
    std::vector<EntryRef> found;
    window_.FindByTitle(print_.title_hash, edge, found);
    SortThoseThatCount(found, Older{window_});
    return std::any_of(found.begin(), found.end(),
                       [&](EntryRef ref) { return Consider(ref, Stage::kExact); });
  }

  bool BySimilarity(EntryRef edge, index::ProbeScratch& scratch) {
    // Candidates that a guard held back are found again here, in their order by similarity.
    result_.candidates.clear();
    std::vector<Match> matches;
    window_.FindSimilar(print_.title, window_.floor_bounds(), edge, scratch, matches);
    SortBySimilarity(matches);
    size_t below = 0;
    for (; below < matches.size(); ++below) {
      const Match& match = matches[below];
      if (Similarity(match) < policy_.token_threshold) break;
      const bool is_equal = window_.title_hash(match.ref) == print_.title_hash;
      if (Consider(match.ref, is_equal ? Stage::kExact : Stage::kToken)) return true;
    }
    return ByRule(RestOf(matches, below, edge, scratch));
  }

  Judgement Take() { return std::move(result_); }

 private:
  double Similarity(const Match& match) const {
    return index::Jaccard(match.overlap, static_cast<uint32_t>(print_.title.size()), match.length);
  }

  static EntryRef RefOf(EntryRef ref) { return ref; }
  template <class Found>
  static EntryRef RefOf(const Found& found) {
    return found.ref;
  }

  // Sorts what was found. Entries of the document's own channel decide nothing, where other
  // channels alone are compared: a channel may repeat itself without end, so that only as many of
  // them are kept as fit.
  template <class Found, class Before>
  void SortThoseThatCount(std::vector<Found>& found, Before before) const {
    const auto own = std::partition(found.begin(), found.end(), [&](const Found& each) {
      return policy_.same_channel || window_.channel(RefOf(each)) != channel_;
    });
    constexpr auto kTold = static_cast<std::ptrdiff_t>(kMaxCandidates);
    if (found.end() - own > kTold) {
      std::nth_element(own, own + kTold, found.end(), before);
      found.erase(own + kTold, found.end());
    }
    std::sort(found.begin(), found.end(), before);
  }

  void SortBySimilarity(std::vector<Match>& matches) const {
    SortThoseThatCount(matches, [&](const Match& a, const Match& b) {
      const double left = Similarity(a);
      const double right = Similarity(b);
      return left != right ? left > right : window_.seq(a.ref) < window_.seq(b.ref);
    });
  }

  // What is left for the decision rule: titles between the floor and the threshold, leads, and
  // meanings.
  std::vector<EntryRef> RestOf(const std::vector<Match>& matches, size_t below, EntryRef edge,
                               index::ProbeScratch& scratch) const {
    std::vector<EntryRef> known;
    for (size_t i = 0; i < matches.size() && known.size() < below + kMaxRuled; ++i) {
      if (i >= below && Similarity(matches[i]) < policy_.candidate_floor) break;
      known.push_back(matches[i].ref);
    }
    const auto add = [&](EntryRef ref) {
      if (std::find(known.begin(), known.end(), ref) == known.end()) known.push_back(ref);
    };
    for (const EntryRef ref : ByLead(edge, scratch)) add(ref);
    for (const EntryRef ref : ByMeaning(edge)) add(ref);
    known.erase(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(below));
    return known;
  }

  // Of similar leads, the most similar first.
  std::vector<EntryRef> ByLead(EntryRef edge, index::ProbeScratch& scratch) const {
    if (!window_.has_lead_index() || print_.lead.empty()) return {};
    std::vector<Match> leads;
    window_.FindSimilarLead(print_.lead, window_.lead_floor_bounds(), edge, scratch, leads);
    SortThoseThatCount(leads, [&](const Match& a, const Match& b) {
      return a.overlap != b.overlap ? a.overlap > b.overlap
                                    : window_.seq(a.ref) < window_.seq(b.ref);
    });
    if (leads.size() > kMaxRuled) leads.resize(kMaxRuled);
    std::vector<EntryRef> refs;
    for (const Match& lead : leads) refs.push_back(lead.ref);
    return refs;
  }

  // Of near meanings, the nearest first: paraphrases lie below every floor of tokens.
  std::vector<EntryRef> ByMeaning(EntryRef edge) const {
    if (meaning_ == nullptr || print_.vector.empty()) return {};
    const double least = policy_.rule_mode == RuleMode::kCalibrated
                             ? std::min(kMeaningFloor, policy_.semantic_threshold)
                             : policy_.semantic_threshold;
    std::vector<index::NearEntry> near;
    window_.FindNear(print_.vector, meaning_->CosineAt(least) - kScanError, edge, near);
    SortThoseThatCount(near, [&](const index::NearEntry& a, const index::NearEntry& b) {
      return a.cosine != b.cosine ? a.cosine > b.cosine : window_.seq(a.ref) < window_.seq(b.ref);
    });
    if (near.size() > kMaxRuled) near.resize(kMaxRuled);
    std::vector<EntryRef> refs;
    for (const index::NearEntry& each : near) refs.push_back(each.ref);
    return refs;
  }

  // Best first: what matches, by probability in the calibrated mode and by similarity in the plain
  // one; then what only came near.
  bool ByRule(const std::vector<EntryRef>& refs) {
    std::vector<Ruled> ruled;
    ruled.reserve(refs.size());
    for (const EntryRef ref : refs) ruled.push_back(Look(ref));
    const auto worth = [&](const Ruled& each) {
      if (each.ruling.stage == RuleStage::kNone) return each.scores.jaccard;
      return 2 + (policy_.rule_mode == RuleMode::kCalibrated ? each.ruling.probability
                                                             : each.ruling.similarity);
    };
    std::stable_sort(ruled.begin(), ruled.end(), [&](const Ruled& a, const Ruled& b) {
      return worth(a) != worth(b) ? worth(a) > worth(b) : a.seq < b.seq;
    });
    for (const Ruled& each : ruled) {
      const Stage stage = StageOf(each.ruling.stage);
      if (stage == Stage::kNone && result_.candidates.size() >= kMaxCandidates) break;
      if (Consider(each, stage)) return true;
    }
    return false;
  }

  Ruled Look(EntryRef ref) {
    const RuleText earlier{window_.text(ref), window_.title(ref), window_.lead(ref)};
    const RuleText later{print_.normalized_title, print_.title, print_.lead};
    PairFeatures features =
        FeaturesOf(earlier, later, arrival_ - window_.arrival(ref), Read(earlier.title));
    features.semantic = MeaningOf(print_.vector, window_.vector(ref), meaning_);
    return {ref, window_.seq(ref), ScoresOf(features, settings_), Rule(features, settings_)};
  }

  // Equal titles are read once.
  const TitleFeatures& Read(std::string_view title) {
    const auto [at, is_new] = read_.try_emplace(title);
    if (is_new) {
      at->second = TitleFeaturesOf(title, print_.normalized_title, words_);
      ++result_.titles_read;
    }
    return at->second;
  }

  // The same as below, without a look at what is neither used nor reported.
  bool Consider(EntryRef ref, Stage stage) {
    const bool is_told = result_.candidates.size() < kMaxCandidates;
    if (!is_told && !GuardsOf(ref, window_.root(ref), stage).empty()) return false;
    return Consider(Look(ref), stage);
  }

  // Takes the entry for the match when its stage and no guard says otherwise.
  bool Consider(const Ruled& each, Stage stage) {
    const index::Root root = window_.root(each.ref);
    JudgedCandidate candidate{each.ref, each.seq, root.seq, each.scores, stage, {}};
    if (stage != Stage::kNone) candidate.guards = GuardsOf(each, root, stage);
    const bool is_taken = stage != Stage::kNone && candidate.guards.empty();
    if (is_taken) {
      result_.verdict = Verdict::kDuplicate;
      result_.stage = stage;
      const bool is_literal = stage == Stage::kUrl || stage == Stage::kExact;
      result_.similarity = is_literal ? 1 : each.ruling.similarity;
      if (result_.candidates.size() == kMaxCandidates) result_.candidates.pop_back();
      result_.candidates.insert(result_.candidates.begin(), std::move(candidate));
    } else if (result_.candidates.size() < kMaxCandidates) {
      result_.candidates.push_back(std::move(candidate));
    }
    return is_taken;
  }

  std::vector<Guard> GuardsOf(const Ruled& each, const index::Root& root, Stage stage) const {
    std::vector<Guard> guards = GuardsOf(each.ref, root, stage);
    if (stage == Stage::kUrl || stage == Stage::kExact) return guards;
    for (const RuleGuard guard : each.ruling.guards) guards.push_back(GuardOf(guard));
    return guards;
  }

  // Those that ask for no comparison of titles.
  std::vector<Guard> GuardsOf(EntryRef ref, const index::Root& root, Stage stage) const {
    Earlier earlier{window_.channel(ref), window_.lead(ref), {}};
    if (root.seq != window_.seq(ref)) {
      earlier.root_title = root.title;
      earlier.root_lead = root.lead;
      earlier.root_semantic = MeaningOf(print_.vector, root.vector, meaning_);
    }
    return GuardsAgainst(print_, channel_, earlier, stage, policy_);
  }

  const Fingerprint& print_;
  const uint32_t channel_;
  const Time arrival_;
  const WindowIndex& window_;
  const Policy& policy_;
  const RuleSettings settings_;
  const TitleWords& words_;
  const EmbedderCalibration* meaning_;
  std::unordered_map<std::string_view, TitleFeatures> read_;  // by earlier title
  Judgement result_;
};

// Whether a document is similar enough to the original of the one that it repeats.
bool IsNearRoot(const Fingerprint& print, const Earlier& earlier, const Policy& policy) {
  if (JaccardOf(print.title, *earlier.root_title) >= policy.chain_floor) return true;
  if (earlier.root_semantic && *earlier.root_semantic >= kChainMeaning) return true;
  return policy.rule_mode == RuleMode::kCalibrated && LeadsAgree(print.lead, earlier.root_lead);
}

}  // namespace

std::optional<double> MeaningOf(std::span<const int8_t> a, std::span<const int8_t> b,
                                const EmbedderCalibration* meaning) {
  if (meaning == nullptr || a.empty() || a.size() != b.size()) return std::nullopt;
  return meaning->Scale(index::VectorCosine(a, b));
}

Scores ScoresOf(const PairFeatures& features, const RuleSettings& settings) {
  return {features.title_jaccard,
          features.title_cosine,
          features.title_overlap,
          features.lead_jaccard,
          features.edit_similarity,
          features.semantic,
          ProbabilityOfOneStory(features, settings),
          std::nullopt};
}

RuleSettings SettingsOf(const Policy& policy) {
  RuleSettings settings;
  settings.mode = policy.rule_mode;
  settings.token_threshold = policy.token_threshold;
  settings.floor = policy.candidate_floor;
  settings.edit_threshold = policy.edit_threshold;
  settings.semantic_threshold = policy.semantic_threshold;
  settings.lead_threshold = policy.lead_threshold;
  settings.least_probability = policy.least_probability;
  return settings;
}

Stage StageOf(RuleStage stage) {
  switch (stage) {
    case RuleStage::kToken:
      return Stage::kToken;
    case RuleStage::kLead:
      return Stage::kLead;
    case RuleStage::kEdit:
      return Stage::kEdit;
    case RuleStage::kSemantic:
      return Stage::kSemantic;
    case RuleStage::kNone:
      break;
  }
  return Stage::kNone;
}

Guard GuardOf(RuleGuard guard) {
  return guard == RuleGuard::kTemplate ? Guard::kTemplate : Guard::kContradiction;
}

std::vector<Guard> GuardsAgainst(const Fingerprint& print, uint32_t channel, const Earlier& earlier,
                                 Stage stage, const Policy& policy) {
  std::vector<Guard> guards;
  if (stage == Stage::kUrl) return guards;
  if (!policy.same_channel && earlier.channel == channel) guards.push_back(Guard::kSameChannel);
  if (print.has_short_title && !LeadsAgree(print.lead, earlier.lead)) {
    guards.push_back(Guard::kShortTitle);
  }
  if (earlier.root_title && !IsNearRoot(print, earlier, policy)) guards.push_back(Guard::kChain);
  return guards;
}

Judgement Judge(const Fingerprint& print, uint32_t channel, Time arrival,
                const index::WindowIndex& window, const JudgeRules& rules,
                index::ProbeScratch& scratch) {
  Judging judging(print, channel, arrival, window, rules);
  const std::optional<EntryRef> edge = judging.Edge();
  if (edge && !judging.ByUrl(*edge) && !judging.ByTitle(*edge)) {
    judging.BySimilarity(*edge, scratch);
  }
  return judging.Take();
}

}  // namespace winnow::dedup
