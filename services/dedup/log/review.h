#pragma once

#include <optional>

#include "services/dedup/log/decision.h"

// Which decisions people should look at.
namespace winnow::dedup {

// Similarity of the best candidate, whatever was decided; 0 for none.
double NearestOf(const Decision& decision);

// None for decisions that are beyond doubt: equal URLs or titles, and nothing near.
std::optional<ReviewKind> ReviewKindOf(const Decision& decision);

// Whether the decision is in a sample of this share. The same on every server.
bool IsDrawn(const Decision& decision, double rate);

}  // namespace winnow::dedup
