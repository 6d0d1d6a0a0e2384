#include "services/dedup/log/review.h"

#include <algorithm>
#include <cmath>

#include "services/platform/base/hash.h"

namespace winnow::dedup {

double NearestOf(const Decision& decision) {
  double nearest = decision.similarity;
  for (const Candidate& candidate : decision.candidates) {
    nearest = std::max(nearest, candidate.scores.jaccard);
  }
  return nearest;
}

std::optional<ReviewKind> ReviewKindOf(const Decision& decision) {
  if (decision.verdict == Verdict::kUnique) {
    if (NearestOf(decision) > 0) return ReviewKind::kUnique;
    return std::nullopt;
  }
  if (decision.stage == Stage::kUrl || decision.stage == Stage::kExact) return std::nullopt;
  return ReviewKind::kDuplicate;
}

bool IsDrawn(const Decision& decision, double rate) {
  constexpr uint64_t kSeed = 0x726576696577;
  const uint64_t hash = Hash64(decision.ns + '\0' + decision.document_id, kSeed);
  return std::ldexp(static_cast<double>(hash >> 11), -53) < rate;
}

}  // namespace winnow::dedup
