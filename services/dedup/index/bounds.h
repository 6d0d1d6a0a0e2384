#pragma once

#include <array>
#include <cstdint>
#include <memory>

namespace winnow::dedup::index {

// Jaccard similarity of two sets of `n` and `m` tokens that share `overlap`. Two empty sets share
// nothing that could be known: 0.
double Jaccard(uint32_t overlap, uint32_t n, uint32_t m);

// What two token sets must share for their Jaccard similarity to reach a threshold. Every filter of
// the index comes from here, so that all of them agree with Jaccard() to the last bit.
class Bounds {
 public:
  // `threshold` within (0, 1].
  explicit Bounds(double threshold);

  double threshold() const { return threshold_; }

  // Least overlap of sets of `n` and `m` tokens (both at least 1) that reaches the threshold; more
  // than either has when none does.
  uint32_t LeastOverlap(uint32_t n, uint32_t m) const {
    if (n < kTableSize && m < kTableSize) return (*table_)[n * kTableSize + m];
    return Compute(n, m);
  }

  // A set of `n` tokens that reaches the threshold with any other shares at least one of its first
  // PrefixLength(n) tokens with it, in the common order.
  uint32_t PrefixLength(uint32_t n) const;

  // Sets of at least this many tokens have no entry in the table.
  static constexpr uint32_t kTableSize = 128;

 private:
  uint32_t Compute(uint32_t n, uint32_t m) const;

  double threshold_;
  // Titles have some 20 tokens: their bounds are looked up instead of computed.
  using Table = std::array<uint8_t, kTableSize * kTableSize>;
  std::unique_ptr<Table> table_;
};

}  // namespace winnow::dedup::index
