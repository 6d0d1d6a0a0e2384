#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace winnow::dedup::index {

// How dot products of int8 vectors are computed. All give the same integers.
enum class Kernel { kScalar, kAvx2, kAvx512Vnni };

// Whether this machine can.
bool IsSupported(Kernel kernel);
// The fastest this machine can; asked once.
Kernel BestKernel();
const char* NameOf(Kernel kernel);

// Vectors lie one after the other, each `stride` values long, zeros at the end; a multiple of
// kStrideUnit, so that no kernel has a rest to care for.
inline constexpr size_t kStrideUnit = 64;
inline constexpr size_t StrideOf(size_t dimensions) {
  return (dimensions + kStrideUnit - 1) / kStrideUnit * kStrideUnit;
}

// dots[i] = query . i-th vector, for dots.size() vectors. Values are within [-127, 127]; the sum of
// at most 65,536 products fits.
void DotAll(Kernel kernel, const int8_t* query, const int8_t* vectors, size_t stride,
            std::span<int32_t> dots);

}  // namespace winnow::dedup::index
