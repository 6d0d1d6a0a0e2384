#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <string>

#include "services/dedup/embedding/embedder.h"
#include "services/platform/base/hash.h"

namespace winnow::test {

// An embedder that knows by heart what a few texts mean; every other text means something of its
// own. Its vectors are the same in every process.
class KnowingEmbedder final : public dedup::Embedder {
 public:
  explicit KnowingEmbedder(std::string model) : calibration_{std::move(model), 0, 0.9} {}

  // Says that this text (normalised) means the same as all others of `concept_number`.
  void Know(const std::string& text, int concept_number) {
    std::lock_guard lock(mutex_);
    known_[text] = concept_number;
  }
  std::atomic<bool> is_broken = false;
  std::atomic<int> calls = 0;

  const dedup::EmbedderCalibration& calibration() const override { return calibration_; }
  StatusOr<std::vector<dedup::index::Vector>> Embed(std::span<const std::string> texts,
                                                    Deadline) override {
    ++calls;
    if (is_broken) return Unavailable(Reason::kPeerUnavailable, "the model", {});
    std::vector<dedup::index::Vector> vectors;
    for (const std::string& text : texts) vectors.push_back(VectorOf(text));
    return vectors;
  }

 private:
  dedup::index::Vector VectorOf(const std::string& text) {
    std::lock_guard lock(mutex_);
    const auto known = known_.find(text);
    const bool is_known = known != known_.end();
    std::mt19937_64 random(is_known ? static_cast<uint64_t>(known->second) : Hash64(text));
    std::mt19937_64 noise(Hash64(text));
    dedup::index::Vector vector(96);
    for (int8_t& value : vector) {
      value = static_cast<int8_t>(static_cast<int>(random() % 221) - 110 +
                                  static_cast<int>(noise() % 21) - 10);
    }
    return vector;
  }

  const dedup::EmbedderCalibration calibration_;
  std::mutex mutex_;
  std::map<std::string, int> known_;
};

}  // namespace winnow::test
