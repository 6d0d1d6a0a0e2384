#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "services/dedup/circuit.h"
#include "services/dedup/embedder.h"
#include "services/dedup/embedding_cache.h"
#include "services/platform/metrics.h"

namespace winnow::dedup {

// Asks another embedder for what it has not asked of late, each text once, and not at all while
// that one keeps failing: a document is then decided without meaning, at once. A thread of its own
// tries whether it is back, so that no document waits for that.
class CachedEmbedder final : public Embedder {
 public:
  // `capacity` in vectors; 0 keeps none.
  CachedEmbedder(std::unique_ptr<Embedder> model, size_t capacity, Metrics& metrics);
  ~CachedEmbedder() override;

  const EmbedderCalibration& calibration() const override { return model_->calibration(); }
  StatusOr<std::vector<index::Vector>> Embed(std::span<const std::string> texts,
                                             Deadline deadline) override;

  struct Counts {
    int64_t hits = 0;  // texts whose vector was known
    int64_t misses = 0;
    int64_t failures = 0;  // calls that failed
    bool is_down = false;  // it is not asked, because it fails
  };
  Counts counts() const;

 private:
  // Fills in what is cached; gives the texts that are not, each once.
  std::vector<std::string> TakeCached(std::span<const std::string> texts,
                                      std::vector<index::Vector>& vectors);
  StatusOr<std::vector<index::Vector>> Ask(std::span<const std::string> texts, Deadline deadline);

  // Counts how a call ended, and opens or closes the circuit.
  void Settle(bool is_ok);
  void TryWhileDown();

  std::unique_ptr<Embedder> model_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  Counts counts_;
  EmbeddingCache cache_;
  Circuit circuit_;
  Counter& hits_;
  Counter& misses_;
  Counter& failures_;
  Counter& refusals_;
  Gauge& is_down_;
  Histogram& seconds_;
  std::thread trier_;  // last: it uses the above
};

}  // namespace winnow::dedup
