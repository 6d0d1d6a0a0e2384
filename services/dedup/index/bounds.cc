#include "services/dedup/index/bounds.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace winnow::dedup::index {

double Jaccard(uint32_t overlap, uint32_t n, uint32_t m) {
  const uint32_t united = n + m - overlap;
  return united == 0 ? 0.0 : static_cast<double>(overlap) / static_cast<double>(united);
}

double Cosine(uint32_t overlap, uint32_t n, uint32_t m) {
  if (n == 0 || m == 0) return 0;
  // One root of the product, so that equal sets are exactly 1.
  return std::min(1.0, overlap / std::sqrt(static_cast<double>(n) * static_cast<double>(m)));
}

double Containment(uint32_t overlap, uint32_t n, uint32_t m) {
  return n == 0 || m == 0 ? 0.0 : static_cast<double>(overlap) / std::min(n, m);
}

Bounds::Bounds(double threshold) : threshold_(threshold), table_(std::make_unique<Table>()) {
  assert(threshold > 0 && threshold <= 1);
  for (uint32_t n = 1; n < kTableSize; ++n) {
    table_->prefix[n] = static_cast<uint8_t>(ComputePrefix(n));
    for (uint32_t m = 1; m < kTableSize; ++m) {
      table_->least[n * kTableSize + m] = static_cast<uint8_t>(Compute(n, m));
    }
  }
}

uint32_t Bounds::Compute(uint32_t n, uint32_t m) const {
  const uint32_t most = std::min(n, m);
  if (Jaccard(most, n, m) < threshold_) return most + 1;
  // The real bound is t (n + m) / (1 + t). Rounding may put it off by one either way, so Jaccard()
  // itself has the last word.
  const double estimate = threshold_ * static_cast<double>(n + m) / (1 + threshold_);
  uint32_t least = std::min(most, static_cast<uint32_t>(std::ceil(estimate)));
  while (least > 0 && Jaccard(least - 1, n, m) >= threshold_) --least;
  while (Jaccard(least, n, m) < threshold_) ++least;
  return least;
}

uint32_t Bounds::ComputePrefix(uint32_t n) const {
  if (n == 0) return 0;
  // The other set that asks for the smallest overlap is one that lies wholly within this one: then
  // J = overlap / n. The same double division as Jaccard(), so that no rounding can differ.
  uint32_t least = static_cast<uint32_t>(std::ceil(threshold_ * static_cast<double>(n)));
  least = std::clamp<uint32_t>(least, 1, n);
  while (least > 1 && Jaccard(least - 1, n, least - 1) >= threshold_) --least;
  while (least < n && Jaccard(least, n, least) < threshold_) ++least;
  return n - least + 1;
}

}  // namespace winnow::dedup::index
