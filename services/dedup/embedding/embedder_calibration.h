#pragma once

#include <span>
#include <string>
#include <string_view>

namespace winnow::dedup {

// Each model has its own scale of cosines: what is a duplicate by one is a random pair by another.
// A calibration maps a model's cosines to one scale where thresholds mean the same for every model.
// tools/dedup/embedder_report measures one.
struct EmbedderCalibration {
  std::string model;  // as /v1/embeddings knows it
  double random = 0;  // median cosine of random pairs of titles
  double match = 0;   // least cosine with precision .95 on the hand-read pairs

  // Within [0, 1]: 0 for a random pair, .85 (the published threshold) at `match`, 1 for equal
  // vectors; straight lines between.
  double Scale(double cosine) const;
  // The cosine that has this place on the scale, which is within (0, 1].
  double CosineAt(double scaled) const;
};

// The models that were calibrated.
std::span<const EmbedderCalibration> Calibrations();
// None for a model that was not: its cosines say nothing.
const EmbedderCalibration* FindCalibration(std::string_view model);

}  // namespace winnow::dedup
