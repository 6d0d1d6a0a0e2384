#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "services/dedup/index/segment_ring.h"

namespace winnow::dedup::index {

// An embedding in a byte a dimension, within [-127, 127]: the largest value becomes 127. Only its
// direction means anything.
using Vector = std::vector<int8_t>;

// Dimensions of a vector, at most.
inline constexpr size_t kMaxDimensions = 4096;

// None for a vector without direction: empty, all zeros, or with a value that is not finite.
std::optional<Vector> Quantize(std::span<const float> values);

// Cosine of the angle between two vectors of equal dimensions, within [-1, 1]; 0 where one is empty
// or the dimensions differ.
double VectorCosine(std::span<const int8_t> a, std::span<const int8_t> b);

// Vectors of the entries of a window, segment by segment in step with its other fields. All are of
// the same number of dimensions, the first one's; one of others counts as none.
class VectorField {
 public:
  void AddSegment(uint16_t number);
  void DropOldestSegment() { segments_.DropOldest(); }
  void RemoveNewestSegment() { segments_.DropNewest(); }

  // The entry takes the next slot of the newest segment; an empty vector is never found.
  void Append(std::span<const int8_t> vector);
  // Takes back the newest entry of the newest segment.
  void RemoveNewest();

  size_t dimensions() const { return dimensions_; }
  // The vector of one entry; empty where it has none. Valid until the next change.
  std::span<const int8_t> VectorOf(uint16_t segment, uint16_t slot) const;

  // Calls visit(segment, slot, cosine) for every entry with a cosine of at least `least`, above 0,
  // from `slot` of the segment `segment` on. Every vector is looked at.
  template <class Visit>
  void ForEachNear(std::span<const int8_t> vector, double least, uint16_t segment, uint16_t slot,
                   Visit&& visit) const;

  size_t bytes() const;

 private:
  struct Segment {
    std::vector<int8_t> values;
    std::vector<float> scales;  // 1 / length, by slot; 0: no vector
  };

  std::vector<int8_t> Padded(std::span<const int8_t> vector) const;
  static float ScaleOf(std::span<const int8_t> vector);
  // As many entries at a time as their cosines stay near.
  static constexpr size_t kBlock = 1024;
  // Cosines of the entries of a segment from a slot on, as many as are held and fit; their number.
  size_t Scan(const Segment& segment, std::span<const int8_t> padded, float scale, size_t slot,
              std::span<float, kBlock> cosines) const;

  SegmentRing<Segment> segments_;
  size_t dimensions_ = 0;
  size_t stride_ = 0;
};

template <class Visit>
void VectorField::ForEachNear(std::span<const int8_t> vector, double least, uint16_t segment,
                              uint16_t slot, Visit&& visit) const {
  if (vector.empty() || vector.size() != dimensions_ || segments_.empty()) return;
  const std::vector<int8_t> padded = Padded(vector);
  const float scale = ScaleOf(vector);
  std::array<float, kBlock> cosines;
  for (uint16_t age = segments_.Age(segment); age < segments_.size(); ++age) {
    const auto number = static_cast<uint16_t>(segments_.oldest() + age);
    size_t at = number == segment ? slot : 0;
    while (const size_t count = Scan(segments_[number], padded, scale, at, cosines)) {
      for (size_t i = 0; i < count; ++i) {
        if (cosines[i] >= least) visit(number, static_cast<uint16_t>(at + i), cosines[i]);
      }
      at += count;
    }
  }
}

}  // namespace winnow::dedup::index
