#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "services/dedup/decision.h"
#include "services/dedup/decision_rule.h"
#include "services/dedup/fingerprint.h"
#include "services/dedup/index/window_index.h"
#include "services/dedup/policy.h"

namespace winnow::dedup {

// A candidate by its place in the window; ids are looked up for the few that are told.
struct JudgedCandidate {
  index::EntryRef ref;
  int64_t seq = 0;
  int64_t root_seq = 0;
  Scores scores;
  Stage stage = Stage::kNone;
  std::vector<Guard> guards;
};

// What the rules say about a document.
struct Judgement {
  Verdict verdict = Verdict::kUnique;
  double similarity = 0;
  Stage stage = Stage::kNone;
  // Best first, at most kMostCandidates; when the verdict is kDuplicate the first is the one that
  // decided, and its root is the original.
  std::vector<JudgedCandidate> candidates;

  bool is_duplicate() const { return verdict == Verdict::kDuplicate; }
};

// An earlier document as a guard sees it.
struct Earlier {
  uint32_t channel = 0;
  std::span<const index::Token> lead;
  // Of its original; none when it is one itself.
  std::optional<std::span<const index::Token>> root_title;
  std::span<const index::Token> root_lead = {};
};

// What is told of a pair.
Scores ScoresOf(const PairFeatures& features, const RuleSettings& settings);

RuleSettings SettingsOf(const Policy& policy);
Stage StageOf(RuleStage stage);
Guard GuardOf(RuleGuard guard);

// The guards that keep `earlier`, matched by `stage`, from being taken; those of the decision rule
// apart.
std::vector<Guard> GuardsAgainst(const Fingerprint& print, uint32_t channel, const Earlier& earlier,
                                 Stage stage, const Policy& policy);

// Decides by the entries that arrived within the window before `arrival`: equal URL, then equal
// title, then similar title, then what else the decision rule finds alike; of each the best
// candidate that no guard forbids, the earliest of equals. First arrival wins: its root is the
// original.
Judgement Judge(const Fingerprint& print, uint32_t channel, Time arrival,
                const index::WindowIndex& window, const Policy& policy, const TitleWords& words,
                index::ProbeScratch& scratch);

}  // namespace winnow::dedup
