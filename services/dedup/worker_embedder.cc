#include "services/dedup/worker_embedder.h"

#include <chrono>
#include <unordered_map>
#include <utility>

namespace winnow::dedup {

CachedEmbedder::CachedEmbedder(std::unique_ptr<Embedder> model, size_t capacity, Metrics& metrics)
    : model_(std::move(model)),
      cache_(capacity),
      hits_(metrics.GetCounter("winnow_dedup_embedding_cache_total",
                               "Texts whose vector was asked for.", {{"outcome", "hit"}})),
      misses_(metrics.GetCounter("winnow_dedup_embedding_cache_total",
                                 "Texts whose vector was asked for.", {{"outcome", "miss"}})),
      failures_(metrics.GetCounter("winnow_dedup_embedding_failures_total",
                                   "Calls of the embedder that failed, or were not made because it"
                                   " fails.",
                                   {{"kind", "failed"}})),
      refusals_(metrics.GetCounter("winnow_dedup_embedding_failures_total",
                                   "Calls of the embedder that failed, or were not made because it"
                                   " fails.",
                                   {{"kind", "not_made"}})),
      is_down_(metrics.GetGauge("winnow_dedup_embedder_down",
                                "1 while the embedder is not asked because it fails.")),
      seconds_(metrics.GetHistogram("winnow_dedup_embedding_seconds",
                                    "Time of a call of the embedder.", Metrics::LatencyBuckets())) {
}

std::vector<std::string> CachedEmbedder::TakeCached(std::span<const std::string> texts,
                                                    std::vector<index::Vector>& vectors) {
  std::vector<std::string> missing;
  std::unordered_map<std::string_view, bool> asked;
  for (size_t i = 0; i < texts.size(); ++i) {
    const index::Vector* known = cache_.Find(texts[i]);
    if (known != nullptr) vectors[i] = *known;
    (known != nullptr ? hits_ : misses_).Increment();
    if (known == nullptr && asked.emplace(texts[i], true).second) missing.push_back(texts[i]);
  }
  return missing;
}

StatusOr<std::vector<index::Vector>> CachedEmbedder::Embed(std::span<const std::string> texts,
                                                           Deadline deadline) {
  std::vector<index::Vector> vectors(texts.size());
  std::vector<std::string> missing;
  {
    std::lock_guard lock(mutex_);
    missing = TakeCached(texts, vectors);
    if (missing.empty()) return vectors;
    if (!circuit_.TryBegin(std::chrono::steady_clock::now())) {
      refusals_.Increment();
      return Unavailable(Reason::kPeerUnavailable, "the embedder fails; it is tried again soon",
                         Circuit::kFirstPause);
    }
  }
  WINNOW_ASSIGN_OR_RETURN(const std::vector<index::Vector> fresh, Ask(missing, deadline));
  std::unordered_map<std::string_view, const index::Vector*> by_text;
  for (size_t i = 0; i < missing.size(); ++i) by_text[missing[i]] = &fresh[i];
  for (size_t i = 0; i < texts.size(); ++i) {
    if (vectors[i].empty()) vectors[i] = *by_text.at(texts[i]);
  }
  return vectors;
}

StatusOr<std::vector<index::Vector>> CachedEmbedder::Ask(std::span<const std::string> texts,
                                                         Deadline deadline) {
  const auto begin = std::chrono::steady_clock::now();
  StatusOr<std::vector<index::Vector>> fresh = model_->Embed(texts, deadline);
  const auto end = std::chrono::steady_clock::now();
  seconds_.Observe(std::chrono::duration<double>(end - begin).count());
  std::lock_guard lock(mutex_);
  if (!fresh.ok()) {
    failures_.Increment();
    circuit_.Fail(end);
    is_down_.Set(circuit_.is_open() ? 1 : 0);
    return fresh;
  }
  circuit_.Succeed();
  is_down_.Set(0);
  for (size_t i = 0; i < texts.size(); ++i) cache_.Put(texts[i], (*fresh)[i]);
  return fresh;
}

}  // namespace winnow::dedup
