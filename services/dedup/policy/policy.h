#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/dedup/pair/decision_rule.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"

namespace winnow::dedup {

inline constexpr int kMaxCitationChannels = 1'000;
inline constexpr int kMaxNewestDocuments = 1'000'000;
inline constexpr size_t kMaxNote = 500;      // characters
inline constexpr size_t kMaxActor = 128;     // characters
inline constexpr size_t kMaxRequestId = 64;  // characters

// The rules in force for a namespace; defaults are the published ones.
struct Policy {
  int64_t version = 1;
  Micros window = std::chrono::hours(24);  // by arrival; a document exactly this old still counts
  double token_threshold = 0.8;            // title Jaccard of duplicates
  double candidate_floor = 0.5;            // title Jaccard of candidates
  double chain_floor = 0.5;   // title Jaccard that a duplicate's duplicate needs to the original
  bool same_channel = false;  // whether documents of one channel are compared too
  int citation_channels = 3;  // channels at which a story's spread is reported; 0: never
  RuleMode rule_mode = RuleMode::kPublished;
  double edit_threshold = 0.85;      // edit similarity of duplicates, from the candidate floor on
  double semantic_threshold = 0.85;  // scaled cosine of duplicates
  double lead_threshold = 0.6;       // lead Jaccard of duplicates; calibrated mode only
  double least_probability = 0.75;   // of one story; calibrated mode only
  int newest_documents = 0;          // compared with, at most; 0: all of the window
  double review_rate = 0.05;  // share of near-threshold decisions that people are asked about
  friend bool operator==(const Policy&, const Policy&) = default;
};

// Whether documents are found by their leads too, so that every lead is in the index.
inline bool FindsByLead(const Policy& policy) { return policy.rule_mode == RuleMode::kCalibrated; }

// A version of the rules, and how it came to be.
struct PolicyVersion {
  Policy rules;
  std::string actor;  // empty for the configuration's
  std::string note;
  std::optional<Time> create_time;  // none for rules that are not stored yet
};

// New values of some fields.
struct PolicyChange {
  Policy values;
  std::vector<std::string> fields;  // names as in the API
};

// Whether the API has a field of this name that can be changed.
bool IsPolicyField(std::string_view name);
// Those names, for people.
std::string PolicyFieldNames();

// `base` with the change; the version is left alone.
Policy WithChange(const Policy& base, const PolicyChange& change);

// Adds every reason why these rules are refused; `path` is the policy in the request.
void CheckPolicy(const Policy& policy, const std::string& path, Violations& violations);

// Differs for different rules of a namespace, whatever their version.
std::string EtagOf(const std::string& ns, const Policy& policy);

// A request to change a namespace's rules.
struct PolicyUpdate {
  std::string ns;
  PolicyChange change;
  std::string etag;  // empty: whatever is in force
  std::string actor;
  std::string note;
  std::string request_id;  // not empty
};

}  // namespace winnow::dedup
