#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "services/dedup/circuit.h"
#include "services/dedup/embedder.h"
#include "services/dedup/embedding_cache.h"
#include "services/platform/metrics.h"

namespace winnow::dedup {

// Asks another embedder for what it has not asked of late, each text once, and not at all while
// that one keeps failing: a document is then decided without meaning, at once.
class CachedEmbedder final : public Embedder {
 public:
  // `capacity` in vectors; 0 keeps none.
  CachedEmbedder(std::unique_ptr<Embedder> model, size_t capacity, Metrics& metrics);

  const EmbedderCalibration& calibration() const override { return model_->calibration(); }
  StatusOr<std::vector<index::Vector>> Embed(std::span<const std::string> texts,
                                             Deadline deadline) override;

 private:
  // Fills in what is cached; gives the texts that are not, each once.
  std::vector<std::string> TakeCached(std::span<const std::string> texts,
                                      std::vector<index::Vector>& vectors);
  StatusOr<std::vector<index::Vector>> Ask(std::span<const std::string> texts, Deadline deadline);

  std::unique_ptr<Embedder> model_;
  std::mutex mutex_;
  EmbeddingCache cache_;
  Circuit circuit_;
  Counter& hits_;
  Counter& misses_;
  Counter& failures_;
  Counter& refusals_;
  Gauge& is_down_;
  Histogram& seconds_;
};

}  // namespace winnow::dedup
