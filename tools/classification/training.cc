#include "tools/classification/training.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "services/classification/model/linear_model.h"

namespace winnow::classification {
namespace {

// xorshift64*: the same everywhere, unlike the standard's distributions.
class Random {
 public:
  uint32_t Below(uint32_t bound) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<uint32_t>(((state_ * 0x2545F4914F6CDD1DU) >> 32) % bound);
  }

 private:
  uint64_t state_ = 0x9E3779B97F4A7C15U;
};

// log of how much more often a bucket comes in positive than in negative examples.
std::vector<float> Ratios(std::span<const Example* const> examples, double smoothing) {
  std::vector<float> positive(kBuckets);
  std::vector<float> negative(kBuckets);
  double positives = 0;
  double negatives = 0;
  for (const Example* example : examples) {
    (example->positive ? positives : negatives) += 1;
    for (const FeatureValue& f : example->features) {
      (example->positive ? positive : negative)[f.bucket] += 1;
    }
  }
  std::vector<float> ratios(kBuckets, 1);
  if (smoothing == 0) return ratios;
  const double prior = std::log((negatives + smoothing) / (positives + smoothing));
  for (size_t i = 0; i < kBuckets; ++i) {
    if (positive[i] == 0 && negative[i] == 0) continue;
    const double ratio = std::log((positive[i] + smoothing) / (negative[i] + smoothing)) + prior;
    ratios[i] = static_cast<float>(ratio);
  }
  return ratios;
}

// An example as the machine sees it.
struct Row {
  std::vector<FeatureValue> features;  // buckets from kBuckets on are aids
  double label = 1;
  double square = 0;  // of its length, the bias included
  double alpha = 0;
};

std::vector<Row> MakeRows(std::span<const Example* const> examples, std::span<const Linear> aids,
                          const std::vector<float>& ratios, double other) {
  std::vector<Row> rows;
  rows.reserve(examples.size());
  for (const Example* example : examples) {
    Row row;
    row.label = example->positive ? 1 : -1;
    row.features = example->features;
    for (FeatureValue& f : row.features) f.value *= ratios[f.bucket];
    for (size_t i = 0; i < aids.size(); ++i) {
      row.features.push_back({static_cast<uint32_t>(kBuckets + i),
                              static_cast<float>(other * aids[i].Score(example->features))});
    }
    row.square = 1;
    for (const FeatureValue& f : row.features) row.square += double(f.value) * f.value;
    rows.push_back(std::move(row));
  }
  return rows;
}

double ClassWeight(std::span<const Example* const> examples, bool positive) {
  const auto count = std::count_if(examples.begin(), examples.end(),
                                   [&](const Example* e) { return e->positive == positive; });
  return count == 0 ? 1 : 0.5 * static_cast<double>(examples.size()) / static_cast<double>(count);
}

// One visit of a row; answers how far its gradient was from zero.
double Step(Row& row, double cost, std::vector<float>& weights, double& bias) {
  const double diagonal = 0.5 / cost;
  double score = bias;
  for (const FeatureValue& f : row.features) score += double(weights[f.bucket]) * f.value;
  const double gradient = row.label * score - 1 + diagonal * row.alpha;
  const double projected = row.alpha == 0 ? std::min(gradient, 0.0) : gradient;
  if (std::abs(projected) < 1e-12) return 0;
  const double before = row.alpha;
  row.alpha = std::max(row.alpha - gradient / (row.square + diagonal), 0.0);
  const double step = (row.alpha - before) * row.label;
  for (const FeatureValue& f : row.features) {
    weights[f.bucket] += static_cast<float>(step * f.value);
  }
  bias += step;
  return std::abs(projected);
}

}  // namespace

double Linear::Score(const std::vector<FeatureValue>& features) const {
  double score = bias;
  for (const FeatureValue& f : features) score += double(weights[f.bucket]) * f.value;
  return score;
}

Linear Train(std::span<const Example* const> examples, std::span<const Linear> aids,
             const TrainingOptions& options) {
  const std::vector<float> ratios = Ratios(examples, options.smoothing);
  std::vector<Row> rows = MakeRows(examples, aids, ratios, options.other);
  const double cost_positive = options.cost * ClassWeight(examples, true);
  const double cost_negative = options.cost * ClassWeight(examples, false);
  std::vector<float> weights(kBuckets + aids.size());
  Linear linear;
  std::vector<uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  Random random;
  for (int pass = 0; pass < options.passes; ++pass) {
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[random.Below(static_cast<uint32_t>(i))]);
    }
    double worst = 0;
    for (const uint32_t i : order) {
      Row& row = rows[i];
      const double cost = row.label > 0 ? cost_positive : cost_negative;
      worst = std::max(worst, Step(row, cost, weights, linear.bias));
    }
    if (worst < 0.01) break;
  }
  linear.weights.resize(kBuckets);
  for (size_t i = 0; i < kBuckets; ++i) linear.weights[i] = weights[i] * ratios[i];
  for (size_t a = 0; a < aids.size(); ++a) {
    const double share = options.other * weights[kBuckets + a];
    linear.bias += share * aids[a].bias;
    for (size_t i = 0; i < kBuckets; ++i) {
      linear.weights[i] += static_cast<float>(share * aids[a].weights[i]);
    }
  }
  return linear;
}

double Probability(const Platt& platt, double score) {
  return 1 / (1 + std::exp(platt.slope * score + platt.offset));
}

Platt Calibrate(std::span<const double> scores, std::span<const bool> positive) {
  const double positives = static_cast<double>(std::count(positive.begin(), positive.end(), true));
  const double negatives = static_cast<double>(positive.size()) - positives;
  const double high = (positives + 1) / (positives + 2);
  const double low = 1 / (negatives + 2);
  Platt platt{0, std::log((negatives + 1) / (positives + 1))};
  for (int round = 0; round < 100; ++round) {
    double h11 = 1e-9, h22 = 1e-9, h21 = 0, g1 = 0, g2 = 0;
    for (size_t i = 0; i < scores.size(); ++i) {
      const double p = Probability(platt, scores[i]);
      const double miss = (positive[i] ? high : low) - p;
      const double d = p * (1 - p);
      h11 += scores[i] * scores[i] * d;
      h22 += d;
      h21 += scores[i] * d;
      g1 += scores[i] * miss;
      g2 += miss;
    }
    const double determinant = h11 * h22 - h21 * h21;
    const double slope_step = -(h22 * g1 - h21 * g2) / determinant;
    const double offset_step = -(h11 * g2 - h21 * g1) / determinant;
    platt.slope += slope_step;
    platt.offset += offset_step;
    if (std::abs(slope_step) < 1e-9 && std::abs(offset_step) < 1e-9) break;
  }
  return platt;
}

double MacroF1(std::span<const double> scores, std::span<const bool> positive, double threshold) {
  double hits = 0, false_alarms = 0, misses = 0, rest = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const bool said = scores[i] >= threshold;
    if (positive[i]) {
      (said ? hits : misses) += 1;
    } else {
      (said ? false_alarms : rest) += 1;
    }
  }
  const auto f1 = [&](double right) {
    return right == 0 ? 0 : 2 * right / (2 * right + false_alarms + misses);
  };
  return (f1(hits) + f1(rest)) / 2;
}

double BestThreshold(std::span<const double> scores, std::span<const bool> positive) {
  std::vector<double> sorted(scores.begin(), scores.end());
  std::sort(sorted.begin(), sorted.end());
  double best = 0;
  double threshold = 0;
  for (size_t i = 1; i < 200; ++i) {
    const double candidate = sorted[sorted.size() * i / 200];
    const double f1 = MacroF1(scores, positive, candidate);
    if (f1 <= best) continue;
    best = f1;
    threshold = candidate;
  }
  return threshold;
}

Quantized Quantize(const Linear& linear) {
  float largest = 0;
  for (const float weight : linear.weights) largest = std::max(largest, std::abs(weight));
  Quantized quantized;
  quantized.weights.resize(linear.weights.size());
  if (largest == 0) return quantized;
  quantized.scale = double(largest) / 127;
  for (size_t i = 0; i < linear.weights.size(); ++i) {
    quantized.weights[i] = static_cast<int8_t>(std::lround(linear.weights[i] / quantized.scale));
  }
  return quantized;
}

Linear Dequantize(const Quantized& quantized, double bias) {
  Linear linear;
  linear.bias = bias;
  linear.weights.resize(quantized.weights.size());
  for (size_t i = 0; i < linear.weights.size(); ++i) {
    linear.weights[i] = static_cast<float>(quantized.scale * quantized.weights[i]);
  }
  return linear;
}

}  // namespace winnow::classification
