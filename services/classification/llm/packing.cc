#include "services/classification/llm/packing.h"

#include <algorithm>

namespace winnow::classification {

std::vector<CommentBatch> Pack(std::vector<Pending> items, size_t most_tokens) {
  std::stable_sort(items.begin(), items.end(),
                   [](const Pending& a, const Pending& b) { return a.limit > b.limit; });
  std::vector<CommentBatch> batches;
  size_t tokens = 0;
  for (const Pending& item : items) {
    const bool fits = !batches.empty() && batches.back().front().limit == item.limit &&
                      batches.back().size() < item.limit && tokens + item.tokens <= most_tokens;
    if (!fits) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(item);
    tokens += item.tokens;
  }
  return batches;
}

}  // namespace winnow::classification
