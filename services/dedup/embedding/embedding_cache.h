#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string_view>
#include <unordered_map>

#include "services/dedup/index/vector_field.h"

namespace winnow::dedup {

// Vectors of the texts last asked for, by the text's hash; the least recently used goes first.
// One model's only. Not thread-safe.
class EmbeddingCache {
 public:
  explicit EmbeddingCache(size_t capacity) : capacity_(capacity) {}

  // Null: not known. Valid until the next Put.
  const index::Vector* Find(std::string_view text);
  void Put(std::string_view text, index::Vector vector);
  size_t size() const { return order_.size(); }

 private:
  struct Key {
    uint64_t hash = 0;
    uint64_t length = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const { return key.hash; }
  };
  struct Entry {
    Key key;
    index::Vector vector;
  };
  static Key KeyOf(std::string_view text);

  size_t capacity_;
  std::list<Entry> order_;  // most recently used first
  std::unordered_map<Key, std::list<Entry>::iterator, KeyHash> entries_;
};

}  // namespace winnow::dedup
