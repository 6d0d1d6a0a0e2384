#include "services/dedup/index/overlap.h"

#include <algorithm>

namespace winnow::dedup::index {

uint32_t Overlap(std::span<const Token> a, std::span<const Token> b) {
  return OverlapAtLeast(a, b, 0);
}

uint32_t OverlapAtLeast(std::span<const Token> a, std::span<const Token> b, uint32_t need) {
  const Token* left = a.data();
  const Token* right = b.data();
  const Token* const left_end = left + a.size();
  const Token* const right_end = right + b.size();
  uint32_t shared = 0;
  // Without branches that depend on the tokens: they are as good as random, and a mispredicted
  // branch costs more than the ten steps between two looks at the bound.
  constexpr int kStride = 8;
  while (left_end - left >= kStride && right_end - right >= kStride) {
    for (int step = 0; step < kStride; ++step) {
      const Token x = *left;
      const Token y = *right;
      shared += static_cast<uint32_t>(x == y);
      left += static_cast<int>(x <= y);
      right += static_cast<int>(y <= x);
    }
    const auto rest = static_cast<uint32_t>(std::min(left_end - left, right_end - right));
    if (shared + rest < need) return 0;
  }
  while (left != left_end && right != right_end) {
    const Token x = *left;
    const Token y = *right;
    shared += static_cast<uint32_t>(x == y);
    left += static_cast<int>(x <= y);
    right += static_cast<int>(y <= x);
  }
  return shared >= need ? shared : 0;
}

}  // namespace winnow::dedup::index
