#include "services/dedup/worker_embedder.h"

#include <chrono>
#include <unordered_map>
#include <utility>

namespace winnow::dedup {
namespace {

// A server that needs longer for one word is not back.
constexpr std::chrono::seconds kTryTime(2);

}  // namespace

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
                                    "Time of a call of the embedder.", Metrics::LatencyBuckets())),
      trier_([this] { TryWhileDown(); }) {}

CachedEmbedder::~CachedEmbedder() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  trier_.join();
}

CachedEmbedder::Counts CachedEmbedder::counts() const {
  std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.is_down = circuit_.is_open();
  return counts;
}

std::vector<std::string> CachedEmbedder::TakeCached(std::span<const std::string> texts,
                                                    std::vector<index::Vector>& vectors) {
  std::vector<std::string> missing;
  std::unordered_map<std::string_view, bool> asked;
  for (size_t i = 0; i < texts.size(); ++i) {
    const index::Vector* known = cache_.Find(texts[i]);
    if (known != nullptr) vectors[i] = *known;
    (known != nullptr ? hits_ : misses_).Increment();
    ++(known != nullptr ? counts_.hits : counts_.misses);
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
    if (circuit_.is_open()) {
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
  seconds_.Observe(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  std::lock_guard lock(mutex_);
  Settle(fresh.ok());
  if (!fresh.ok()) return fresh;
  for (size_t i = 0; i < texts.size(); ++i) cache_.Put(texts[i], (*fresh)[i]);
  return fresh;
}

void CachedEmbedder::Settle(bool is_ok) {
  if (is_ok) {
    circuit_.Succeed();
  } else {
    failures_.Increment();
    ++counts_.failures;
    circuit_.Fail(std::chrono::steady_clock::now());
    changed_.notify_all();
  }
  is_down_.Set(circuit_.is_open() ? 1 : 0);
}

void CachedEmbedder::TryWhileDown() {
  const std::vector<std::string> text = {"winnow"};
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!circuit_.is_open()) {
      changed_.wait(lock, [this] { return stopping_ || circuit_.is_open(); });
    } else if (!circuit_.TryBegin(std::chrono::steady_clock::now())) {
      changed_.wait_until(lock, circuit_.next_try(), [this] { return stopping_; });
    } else {
      lock.unlock();
      const bool is_ok = model_->Embed(text, std::chrono::steady_clock::now() + kTryTime).ok();
      lock.lock();
      Settle(is_ok);
    }
  }
}

}  // namespace winnow::dedup
