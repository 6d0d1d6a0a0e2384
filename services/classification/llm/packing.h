#pragma once

#include <cstddef>
#include <vector>

#include "services/classification/comments/comment_records.h"

namespace winnow::classification {

// A comment that is still to be judged.
struct Pending {
  size_t index = 0;   // of the task's comments
  size_t limit = 0;   // it travels with no more than this many, itself counted
  size_t tokens = 0;  // about
};

using CommentBatch = std::vector<Pending>;

// Batches of at most `most_tokens`, or of one item that is longer. Items of the same limit come
// together: what failed before is pooled, apart from what did not.
std::vector<CommentBatch> Pack(std::vector<Pending> items, size_t most_tokens);

}  // namespace winnow::classification
