#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "services/classification/llm/labels.h"

namespace winnow::classification {

// A comment whose status is beyond doubt. Two go with each batch: a model that obeys a comment, or
// mixes up its keys, does not get both right.
struct Canary {
  std::string_view text;
  CommentStatus status = CommentStatus::kNone;
};

// A normal one and, if the labels know more than normal, one that is not. `random` picks.
std::vector<Canary> PickCanaries(std::span<const Label> labels, uint64_t random);

}  // namespace winnow::classification
