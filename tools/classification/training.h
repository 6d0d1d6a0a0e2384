#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tools/classification/corpus.h"

// Training of linear heads: the same input gives the same bytes, on every run and at every
// optimisation level (one thread, own random numbers, no contraction of floating point).
namespace winnow::classification {

struct Linear {
  std::vector<float> weights;  // kBuckets
  double bias = 0;

  double Score(const std::vector<FeatureValue>& features) const;
};

struct TrainingOptions {
  double cost = 1;       // C of the support vector machine
  double smoothing = 1;  // of the naive Bayes ratios; 0: do without them
  double other = 1;      // weight of the scores of other heads (aids)
  int passes = 30;
};

// A support vector machine (L2 loss, dual coordinate descent) on features scaled by naive Bayes
// log-count ratios, with scores of `aids` (heads that learned from other corpora) as features
// besides. A linear head of linear heads is a linear head, so the result is one.
Linear Train(std::span<const Example* const> examples, std::span<const Linear> aids,
             const TrainingOptions& options);

struct Platt {
  double slope = -1;
  double offset = 0;
};
// Maximum likelihood, by Newton's method, with Platt's targets.
Platt Calibrate(std::span<const double> scores, std::span<const bool> positive);
double Probability(const Platt& platt, double score);

// Mean of the F1 of both classes when scores at or above `threshold` are positive.
double MacroF1(std::span<const double> scores, std::span<const bool> positive, double threshold);
// The threshold with the best macro-F1.
double BestThreshold(std::span<const double> scores, std::span<const bool> positive);

// Weights as int8 and their scale. The largest is not cut: that costs more than rounding does.
struct Quantized {
  std::vector<int8_t> weights;
  double scale = 1;
};
Quantized Quantize(const Linear& linear);
Linear Dequantize(const Quantized& quantized, double bias);

}  // namespace winnow::classification
