#pragma once

#include <array>
#include <cstdint>
#include <memory>

namespace winnow::dedup::index {

// Jaccard similarity of two sets of `n` and `m` tokens that share `overlap`. Two empty sets share
// nothing that could be known: 0.
double Jaccard(uint32_t overlap, uint32_t n, uint32_t m);
// Cosine of the angle between them as vectors of 0 and 1; 0 when one is empty.
double Cosine(uint32_t overlap, uint32_t n, uint32_t m);
// Share of the smaller set that lies within the other (overlap coefficient); 0 when one is empty.
double Containment(uint32_t overlap, uint32_t n, uint32_t m);

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
    if (n < kTableSize && m < kTableSize) return table_->least[n * kTableSize + m];
    return Compute(n, m);
  }

  // A set of `n` tokens that reaches the threshold with any other shares at least one of its first
  // PrefixLength(n) tokens with it, in the common order.
  uint32_t PrefixLength(uint32_t n) const {
    return n < kTableSize ? table_->prefix[n] : ComputePrefix(n);
  }

  // Sets of at least this many tokens have no entry in the table.
  static constexpr uint32_t kTableSize = 128;

 private:
  uint32_t Compute(uint32_t n, uint32_t m) const;
  uint32_t ComputePrefix(uint32_t n) const;

  double threshold_;
  // Titles have some 20 tokens, leads up to 120: their bounds are looked up, not computed.
  struct Table {
    std::array<uint8_t, kTableSize * kTableSize> least{};
    std::array<uint8_t, kTableSize> prefix{};
  };
  std::unique_ptr<Table> table_;
};

}  // namespace winnow::dedup::index
