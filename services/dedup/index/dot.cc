#include "services/dedup/index/dot.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace winnow::dedup::index {
namespace {

void DotScalar(const int8_t* query, const int8_t* vectors, size_t stride, std::span<int32_t> dots) {
  for (int32_t& dot : dots) {
    int32_t sum = 0;
    for (size_t i = 0; i < stride; ++i) sum += int32_t{query[i]} * int32_t{vectors[i]};
    dot = sum;
    vectors += stride;
  }
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) inline __m256i Widened(const int8_t* at) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}

__attribute__((target("avx2"))) void DotAvx2(const int8_t* query, const int8_t* vectors,
                                             size_t stride, std::span<int32_t> dots) {
  for (int32_t& dot : dots) {
    __m256i even = _mm256_setzero_si256();
    __m256i odd = _mm256_setzero_si256();
    for (size_t i = 0; i < stride; i += 32) {
      even = _mm256_add_epi32(even, _mm256_madd_epi16(Widened(query + i), Widened(vectors + i)));
      odd = _mm256_add_epi32(odd,
                             _mm256_madd_epi16(Widened(query + i + 16), Widened(vectors + i + 16)));
    }
    const __m256i sums = _mm256_add_epi32(even, odd);
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4E));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xB1));
    dot = _mm_cvtsi128_si32(half);
    vectors += stride;
  }
}

// The instruction multiplies unsigned by signed: the query is moved up by 128, and what that adds,
// 128 times the sum of the vector, is counted beside and taken off.
__attribute__((target("avx512f,avx512bw,avx512vnni"))) void DotVnni(const int8_t* query,
                                                                    const int8_t* vectors,
                                                                    size_t stride,
                                                                    std::span<int32_t> dots) {
  const __m512i up = _mm512_set1_epi8(static_cast<char>(0x80));
  for (int32_t& dot : dots) {
    __m512i moved = _mm512_setzero_si512();
    __m512i added = _mm512_setzero_si512();
    for (size_t i = 0; i < stride; i += kStrideUnit) {
      const __m512i values = _mm512_loadu_si512(vectors + i);
      moved =
          _mm512_dpbusd_epi32(moved, _mm512_xor_si512(_mm512_loadu_si512(query + i), up), values);
      added = _mm512_dpbusd_epi32(added, up, values);
    }
    dot = _mm512_reduce_add_epi32(_mm512_sub_epi32(moved, added));
    vectors += stride;
  }
}

#endif

}  // namespace

bool IsSupported(Kernel kernel) {
#if defined(__x86_64__)
  if (kernel == Kernel::kAvx2) return __builtin_cpu_supports("avx2") != 0;
  if (kernel == Kernel::kAvx512Vnni) {
    return __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
  }
#endif
  return kernel == Kernel::kScalar;
}

Kernel BestKernel() {
  static const Kernel best = IsSupported(Kernel::kAvx512Vnni) ? Kernel::kAvx512Vnni
                             : IsSupported(Kernel::kAvx2)     ? Kernel::kAvx2
                                                              : Kernel::kScalar;
  return best;
}

const char* NameOf(Kernel kernel) {
  switch (kernel) {
    case Kernel::kScalar:
      return "scalar";
    case Kernel::kAvx2:
      return "AVX2";
    case Kernel::kAvx512Vnni:
      return "AVX-512 VNNI";
  }
  return "";
}

void DotAll(Kernel kernel, const int8_t* query, const int8_t* vectors, size_t stride,
            std::span<int32_t> dots) {
#if defined(__x86_64__)
  if (kernel == Kernel::kAvx2) return DotAvx2(query, vectors, stride, dots);
  if (kernel == Kernel::kAvx512Vnni) return DotVnni(query, vectors, stride, dots);
#endif
  DotScalar(query, vectors, stride, dots);
}

}  // namespace winnow::dedup::index
