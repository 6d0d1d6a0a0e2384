#pragma once

#include <cassert>
#include <cstdint>
#include <utility>
#include <vector>

namespace winnow::dedup::index {

// The live segments of a window, by running number modulo 2^16: begun at the new end, dropped at
// the old end, never moved in memory order. Fewer than 2^15 are live, so that ages are unambiguous.
template <class T>
class SegmentRing {
 public:
  static constexpr uint16_t kMaxLive = (1U << 15) - 1;

  bool empty() const { return count_ == 0; }
  uint16_t size() const { return count_; }
  uint16_t oldest() const { return oldest_; }
  uint16_t newest() const { return static_cast<uint16_t>(oldest_ + count_ - 1); }
  // Segments between the oldest one and this; size() or more when it is not live.
  uint16_t Age(uint16_t number) const { return static_cast<uint16_t>(number - oldest_); }
  bool IsLive(uint16_t number) const { return Age(number) < count_; }

  T& operator[](uint16_t number) { return ring_[number & (ring_.size() - 1)]; }
  const T& operator[](uint16_t number) const { return ring_[number & (ring_.size() - 1)]; }

  // `number` follows the newest one's; any when the ring is empty.
  T& AddNewest(uint16_t number) {
    assert(count_ < kMaxLive);
    assert(empty() || number == static_cast<uint16_t>(newest() + 1));
    if (empty()) oldest_ = number;
    if (count_ == ring_.size()) Widen();
    ++count_;
    return (*this)[number] = T();
  }
  void DropOldest() {
    assert(!empty());
    (*this)[oldest_] = T();
    ++oldest_;
    --count_;
  }
  void DropNewest() {
    assert(!empty());
    (*this)[newest()] = T();
    --count_;
  }

  // Every place, live or not: for adding up memory.
  const std::vector<T>& places() const { return ring_; }

 private:
  void Widen() {
    std::vector<T> wider(ring_.size() * 2);
    for (uint16_t i = 0; i < count_; ++i) {
      const auto number = static_cast<uint16_t>(oldest_ + i);
      wider[number & (wider.size() - 1)] = std::move((*this)[number]);
    }
    ring_ = std::move(wider);
  }

  std::vector<T> ring_ = std::vector<T>(4);
  uint16_t oldest_ = 0;
  uint16_t count_ = 0;
};

}  // namespace winnow::dedup::index
