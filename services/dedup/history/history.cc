#include "services/dedup/history/history.h"

#include <algorithm>
#include <cmath>

namespace winnow::dedup {

Rate EstimateOf(const ErrorCount& count) {
  if (count.all == 0 || count.decisions == 0) return {0, 0, count.all == 0 ? 1.0 : 0.0};
  if (count.reviewed == 0) return {};
  // Wilson's interval: holds its promise also for few reviews and rates near 0.
  constexpr double kZ = 1.959964;
  const auto n = static_cast<double>(count.reviewed);
  const double p = static_cast<double>(count.wrong) / n;
  const double scale = 1 + kZ * kZ / n;
  const double middle = (p + kZ * kZ / (2 * n)) / scale;
  const double half = kZ * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n)) / scale;
  const double share = static_cast<double>(count.decisions) / static_cast<double>(count.all);
  return {p * share, std::max(0.0, middle - half) * share, std::min(1.0, middle + half) * share};
}

}  // namespace winnow::dedup
