#include "services/dedup/judge.h"

#include <algorithm>
#include <cmath>

namespace winnow::dedup {
namespace {

using index::EntryRef;
using index::Match;
using index::WindowIndex;

class Judging {
 public:
  Judging(const Fingerprint& print, uint32_t channel, const WindowIndex& window,
          const Policy& policy)
      : print_(print), channel_(channel), window_(window), policy_(policy) {}

  // Whether the earliest entry of equal URL exists: the page is the same whoever tells it.
  bool ByUrl(EntryRef edge) {
    if (print_.url_hash == 0) return false;
    std::vector<EntryRef> found;
    window_.FindByUrl(print_.url_hash, edge, found);
    SortByAge(found);
    for (const EntryRef ref : found) {
      if (Consider(ref, ScoresOf(print_.title, window_.title(ref)), Stage::kUrl)) return true;
    }
    return false;
  }

  // An equal title has all its tokens in common, so one look-up answers most probes.
  bool ByTitle(EntryRef edge) {
    if (print_.title_hash == 0) return false;
    std::vector<EntryRef> found;
    window_.FindByTitle(print_.title_hash, edge, found);
    SortByAge(found);
    for (const EntryRef ref : found) {
      if (Consider(ref, ScoresOf(print_.title, window_.title(ref)), Stage::kExact)) return true;
    }
    return false;
  }

  bool BySimilarity(EntryRef edge, index::ProbeScratch& scratch) {
    // Candidates that a guard held back are found again here, in their order by similarity.
    result_.candidates.clear();
    std::vector<Match> matches;
    window_.FindSimilar(print_.title, window_.floor_bounds(), edge, scratch, matches);
    const auto length = static_cast<uint32_t>(print_.title.size());
    const auto similarity = [&](const Match& match) {
      return index::Jaccard(match.overlap, length, match.length);
    };
    std::sort(matches.begin(), matches.end(), [&](const Match& a, const Match& b) {
      const double left = similarity(a);
      const double right = similarity(b);
      return left != right ? left > right : window_.seq(a.ref) < window_.seq(b.ref);
    });
    for (const Match& match : matches) {
      const double jaccard = similarity(match);
      if (jaccard < policy_.candidate_floor) break;
      const bool is_equal = window_.title_hash(match.ref) == print_.title_hash;
      Stage stage = Stage::kNone;
      if (jaccard >= policy_.token_threshold) stage = is_equal ? Stage::kExact : Stage::kToken;
      if (stage == Stage::kNone && result_.candidates.size() >= kMostCandidates) break;
      if (Consider(match.ref, ScoresOf(print_.title, window_.title(match.ref)), stage)) return true;
    }
    return false;
  }

  Judgement Take() { return std::move(result_); }

 private:
  void SortByAge(std::vector<EntryRef>& refs) const {
    std::sort(refs.begin(), refs.end(),
              [&](EntryRef a, EntryRef b) { return window_.seq(a) < window_.seq(b); });
  }

  // Takes the entry for the match when its stage and no guard says otherwise.
  bool Consider(EntryRef ref, const Scores& scores, Stage stage) {
    const index::Root root = window_.root(ref);
    JudgedCandidate candidate{ref, window_.seq(ref), root.seq, scores, stage, {}};
    if (stage != Stage::kNone) {
      const bool is_root = root.seq == candidate.seq;
      Earlier earlier{window_.channel(ref), window_.lead(ref), {}};
      if (!is_root) earlier.root_title = root.title;
      candidate.guards = GuardsAgainst(print_, channel_, earlier, stage, policy_);
    }
    const bool is_taken = stage != Stage::kNone && candidate.guards.empty();
    if (is_taken) {
      result_.verdict = Verdict::kDuplicate;
      result_.stage = stage;
      result_.similarity = stage == Stage::kToken ? scores.jaccard : 1;
      if (result_.candidates.size() == kMostCandidates) result_.candidates.pop_back();
      result_.candidates.insert(result_.candidates.begin(), std::move(candidate));
    } else if (result_.candidates.size() < kMostCandidates) {
      result_.candidates.push_back(std::move(candidate));
    }
    return is_taken;
  }

  const Fingerprint& print_;
  const uint32_t channel_;
  const WindowIndex& window_;
  const Policy& policy_;
  Judgement result_;
};

bool LeadsAgree(std::span<const index::Token> a, std::span<const index::Token> b) {
  if (a.empty() || b.empty()) return false;
  return index::Jaccard(index::Overlap(a, b), static_cast<uint32_t>(a.size()),
                        static_cast<uint32_t>(b.size())) >= kLeadAgreement;
}

}  // namespace

Scores ScoresOf(std::span<const index::Token> a, std::span<const index::Token> b) {
  if (a.empty() || b.empty()) return {};
  const uint32_t shared = index::Overlap(a, b);
  const auto n = static_cast<double>(a.size());
  const auto m = static_cast<double>(b.size());
  return {index::Jaccard(shared, static_cast<uint32_t>(a.size()), static_cast<uint32_t>(b.size())),
          // One root of the product, so that equal sets are exactly 1.
          std::min(1.0, shared / std::sqrt(n * m)), shared / std::min(n, m)};
}

std::vector<Guard> GuardsAgainst(const Fingerprint& print, uint32_t channel, const Earlier& earlier,
                                 Stage stage, const Policy& policy) {
  std::vector<Guard> guards;
  if (stage == Stage::kUrl) return guards;
  if (!policy.same_channel && earlier.channel == channel) guards.push_back(Guard::kSameChannel);
  if (print.has_short_title && !LeadsAgree(print.lead, earlier.lead)) {
    guards.push_back(Guard::kShortTitle);
  }
  if (earlier.root_title &&
      ScoresOf(print.title, *earlier.root_title).jaccard < policy.chain_floor) {
    guards.push_back(Guard::kChain);
  }
  return guards;
}

Judgement Judge(const Fingerprint& print, uint32_t channel, Time arrival,
                const index::WindowIndex& window, const Policy& policy,
                index::ProbeScratch& scratch) {
  Judging judging(print, channel, window, policy);
  const std::optional<EntryRef> edge = window.EdgeAt(arrival - policy.window);
  if (edge && !judging.ByUrl(*edge) && !judging.ByTitle(*edge)) {
    judging.BySimilarity(*edge, scratch);
  }
  return judging.Take();
}

}  // namespace winnow::dedup
