#include "services/dedup/index/vector_field.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "services/dedup/index/dot.h"

namespace winnow::dedup::index {
namespace {

constexpr float kLargest = 127;

int64_t DotOf(std::span<const int8_t> a, std::span<const int8_t> b) {
  int64_t sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += int64_t{a[i]} * int64_t{b[i]};
  return sum;
}

}  // namespace

std::optional<Vector> Quantize(std::span<const float> values) {
  float most = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) return std::nullopt;
    most = std::max(most, std::abs(value));
  }
  if (most == 0) return std::nullopt;
  Vector vector;
  vector.reserve(values.size());
  for (const float value : values) {
    vector.push_back(static_cast<int8_t>(std::lround(value / most * kLargest)));
  }
  return vector;
}

double VectorCosine(std::span<const int8_t> a, std::span<const int8_t> b) {
  if (a.empty() || a.size() != b.size()) return 0;
  const auto n = static_cast<double>(DotOf(a, a));
  const auto m = static_cast<double>(DotOf(b, b));
  if (n == 0 || m == 0) return 0;
  return std::clamp(static_cast<double>(DotOf(a, b)) / std::sqrt(n * m), -1.0, 1.0);
}

void VectorField::AddSegment(uint16_t number) {
  if (!segments_.empty()) {
    Segment& closed = segments_[segments_.newest()];
    closed.values.shrink_to_fit();
    closed.scales.shrink_to_fit();
  }
  segments_.AddNewest(number);
}

float VectorField::ScaleOf(std::span<const int8_t> vector) {
  const int64_t square = DotOf(vector, vector);
  return square == 0 ? 0.0F : static_cast<float>(1 / std::sqrt(static_cast<double>(square)));
}

std::vector<int8_t> VectorField::Padded(std::span<const int8_t> vector) const {
  std::vector<int8_t> padded(vector.begin(), vector.end());
  padded.resize(stride_);
  return padded;
}

void VectorField::Append(std::span<const int8_t> vector) {
  if (dimensions_ == 0 && !vector.empty() && vector.size() <= kMaxDimensions) {
    dimensions_ = vector.size();
    stride_ = StrideOf(dimensions_);
  }
  Segment& segment = segments_[segments_.newest()];
  const bool is_kept = !vector.empty() && vector.size() == dimensions_;
  // Entries before the first one that has a vector have zeros: stride_ is 0 until then.
  segment.values.resize(segment.scales.size() * stride_);
  if (is_kept) segment.values.insert(segment.values.end(), vector.begin(), vector.end());
  segment.scales.push_back(is_kept ? ScaleOf(vector) : 0);
  segment.values.resize(segment.scales.size() * stride_);
}

void VectorField::RemoveNewest() {
  Segment& segment = segments_[segments_.newest()];
  assert(!segment.scales.empty());
  segment.scales.pop_back();
  segment.values.resize(std::min(segment.values.size(), segment.scales.size() * stride_));
}

std::span<const int8_t> VectorField::VectorOf(uint16_t segment, uint16_t slot) const {
  const Segment& of = segments_[segment];
  if (of.scales[slot] == 0 || of.values.size() < (slot + size_t{1}) * stride_) return {};
  return {of.values.data() + slot * stride_, dimensions_};
}

size_t VectorField::Scan(const Segment& segment, std::span<const int8_t> padded, float scale,
                         size_t slot, std::span<float, kBlock> cosines) const {
  const size_t held = segment.values.size() / stride_;
  if (slot >= held) return 0;
  const size_t count = std::min(kBlock, held - slot);
  std::array<int32_t, kBlock> dots;
  DotAll(BestKernel(), padded.data(), segment.values.data() + slot * stride_, stride_,
         std::span(dots).first(count));
  for (size_t i = 0; i < count; ++i) {
    cosines[i] = static_cast<float>(dots[i]) * scale * segment.scales[slot + i];
  }
  return count;
}

size_t VectorField::bytes() const {
  size_t total = segments_.places().size() * sizeof(Segment);
  for (const Segment& segment : segments_.places()) {
    total += segment.values.capacity() + segment.scales.capacity() * sizeof(float);
  }
  return total;
}

}  // namespace winnow::dedup::index
