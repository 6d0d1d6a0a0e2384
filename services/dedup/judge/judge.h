#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "services/dedup/embedding/embedder_calibration.h"
#include "services/dedup/index/window_index.h"
#include "services/dedup/log/decision.h"
#include "services/dedup/pair/decision_rule.h"
#include "services/dedup/policy/policy.h"
#include "services/dedup/text/fingerprint.h"

namespace winnow::dedup {

// A candidate by its place in the window; ids are looked up for the few that are reported.
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
  // Best first, at most kMaxCandidates; when the verdict is kDuplicate the first is the one that
  // decided, and its root is the original.
  std::vector<JudgedCandidate> candidates;
  size_t titles_read = 0;  // distinct earlier titles that were compared letter by letter

  bool is_duplicate() const { return verdict == Verdict::kDuplicate; }
};

// An earlier document as a guard sees it.
struct Earlier {
  uint32_t channel = 0;
  std::span<const index::Token> lead;
  // Of its original; none when it is one itself.
  std::optional<std::span<const index::Token>> root_title;
  std::span<const index::Token> root_lead = {};
  std::optional<double> root_semantic = {};  // scaled, where a model compared them
};

// By what a document is judged.
struct JudgeRules {
  const Policy& policy;
  const TitleWords& words;
  const EmbedderCalibration* meaning = nullptr;  // of the model that made the vectors; null: none
};

// How near two meanings are on the model's calibrated scale; none where a vector is missing.
std::optional<double> MeaningOf(std::span<const int8_t> a, std::span<const int8_t> b,
                                const EmbedderCalibration* meaning);

// What is reported of a pair.
Scores ScoresOf(const PairFeatures& features, const RuleSettings& settings);

RuleSettings SettingsOf(const Policy& policy);
Stage StageOf(RuleStage stage);
Guard GuardOf(RuleGuard guard);

// The guards that keep `earlier`, matched by `stage`, from being taken; those of the decision rule
// apart.
std::vector<Guard> GuardsAgainst(const Fingerprint& print, uint32_t channel, const Earlier& earlier,
                                 Stage stage, const Policy& policy);

// Decides by the entries that arrived within the window before `arrival`: equal URL, then equal
// title, then similar title, then what else the decision rule finds alike, by title, lead or
// meaning; of each the best candidate that no guard forbids, the earliest of equals. First arrival
// wins: its root is the original. Of what the channel rule excludes, no more is looked at than is
// reported.
Judgement Judge(const Fingerprint& print, uint32_t channel, Time arrival,
                const index::WindowIndex& window, const JudgeRules& rules,
                index::ProbeScratch& scratch);

}  // namespace winnow::dedup
