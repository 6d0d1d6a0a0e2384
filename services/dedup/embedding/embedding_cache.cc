#include "services/dedup/embedding/embedding_cache.h"

#include <utility>

#include "services/platform/base/hash.h"

namespace winnow::dedup {

EmbeddingCache::Key EmbeddingCache::KeyOf(std::string_view text) {
  return {Hash64(text), text.size()};
}

const index::Vector* EmbeddingCache::Find(std::string_view text) {
  const auto at = entries_.find(KeyOf(text));
  if (at == entries_.end()) return nullptr;
  order_.splice(order_.begin(), order_, at->second);
  return &at->second->vector;
}

void EmbeddingCache::Put(std::string_view text, index::Vector vector) {
  if (capacity_ == 0) return;
  const Key key = KeyOf(text);
  const auto at = entries_.find(key);
  if (at != entries_.end()) {
    at->second->vector = std::move(vector);
    order_.splice(order_.begin(), order_, at->second);
    return;
  }
  if (order_.size() == capacity_) {
    entries_.erase(order_.back().key);
    order_.pop_back();
  }
  order_.push_front({key, std::move(vector)});
  entries_[key] = order_.begin();
}

}  // namespace winnow::dedup
