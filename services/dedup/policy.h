#pragma once

#include <chrono>
#include <cstdint>

#include "services/platform/clock.h"

namespace winnow::dedup {

// The rules in force for a namespace; defaults are the published ones.
struct Policy {
  int64_t version = 1;
  Micros window = std::chrono::hours(24);  // by arrival; a document exactly this old still counts
  double token_threshold = 0.8;            // title Jaccard of duplicates
  double candidate_floor = 0.5;            // title Jaccard of candidates
  double chain_floor = 0.5;   // title Jaccard that a duplicate's duplicate needs to the original
  bool same_channel = false;  // whether documents of one channel are compared too
  friend bool operator==(const Policy&, const Policy&) = default;
};

}  // namespace winnow::dedup
