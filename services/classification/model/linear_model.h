#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/platform/base/status.h"

namespace winnow::classification {

inline constexpr size_t kMaxHeads = 8;

// One labelling policy that the model learned: a linear function of n-grams.
struct Head {
  std::string name;  // "toxic"
  double scale = 0;  // of the int8 weights
  double bias = 0;
  double slope = -1;  // Platt: probability = 1 / (1 + exp(slope * score + offset))
  double offset = 0;
  double threshold = 0.5;  // probability with the best macro-F1 in cross-validation
};

// An n-gram of a text and what it added to a head's score.
struct Contribution {
  std::string ngram;  // UTF-8, as normalised; masked URLs and handles are "<url>", "<handle>"
  double weight = 0;
};

// Calibrated probabilities, by head.
using Scores = std::array<float, kMaxHeads>;

// The embedded classifier. Immutable, hence safe from any thread.
class LinearModel {
 public:
  // What the trainer wrote. INTERNAL for anything else.
  static StatusOr<LinearModel> Parse(std::string_view bytes);
  // The bytes that Parse takes; `weights` are kBuckets times heads, a bucket's beside each other.
  static std::string Serialize(const std::string& version, std::span<const Head> heads,
                               std::span<const int8_t> weights);

  const std::string& version() const { return version_; }
  const std::vector<Head>& heads() const { return heads_; }
  // Index of a head, or -1.
  int Find(std::string_view name) const;

  // Probability of each head; beyond heads() they are 0.
  Scores Score(std::string_view text) const;
  // The n-grams that weighed most on a head, at most `count`, by what they added, whatever its
  // sign; those that stand inside one that weighed more are left out.
  std::vector<Contribution> Explain(std::string_view text, size_t head, size_t count) const;

 private:
  std::string version_;
  std::vector<Head> heads_;
  std::vector<std::array<int8_t, kMaxHeads>> weights_;  // by bucket
};

// The model that is compiled in; made once. The process cannot start without it: a test parses it.
const LinearModel& EmbeddedModel();

}  // namespace winnow::classification
