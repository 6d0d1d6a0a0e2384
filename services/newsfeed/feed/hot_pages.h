#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "services/platform/base/clock.h"

namespace winnow::newsfeed {

// First pages of feeds as they were answered last, bytes and all: who reads a hot feed mostly asks
// for the same. A page is good as long as memory is of the version that it was cut from. Holds
// 32 MiB at most. Any thread.
class HotPages {
 public:
  using Bytes = std::shared_ptr<const std::string>;

  struct Page {
    uint64_t version = 0;  // of the memory
    bool stale = false;    // as the page says
    std::optional<Time> created_at;
    size_t articles = 0;
    std::string feed;
    Bytes bytes;
  };

  std::shared_ptr<const Page> Find(const std::string& key, uint64_t version) const {
    const std::shared_lock lock(mutex_);
    const auto found = pages_.find(key);
    if (found == pages_.end() || found->second->version != version) return nullptr;
    return found->second;
  }

  void Keep(const std::string& key, Page page) {
    const size_t size = page.bytes->size();
    auto kept = std::make_shared<const Page>(std::move(page));
    const std::unique_lock lock(mutex_);
    std::shared_ptr<const Page>& place = pages_[key];
    if (place != nullptr) bytes_ -= place->bytes->size();
    bytes_ += size;
    place = std::move(kept);
    if (bytes_ <= kMostBytes && pages_.size() <= kMaxPages) return;
    pages_.clear();
    bytes_ = 0;
  }

 private:
  static constexpr size_t kMaxPages = 512;
  static constexpr size_t kMostBytes = size_t{32} << 20;

  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Page>> pages_;
  size_t bytes_ = 0;
};

}  // namespace winnow::newsfeed
