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

// Vectors are read once, one after the other: what comes next is asked for this far ahead.
constexpr size_t kAhead = 4096;

inline void AskFor(const int8_t* at) {
  _mm_prefetch(reinterpret_cast<const char*>(at) + kAhead, _MM_HINT_T0);
}

// The instruction multiplies unsigned by signed, and adds pairs in 16 bits: |q| * (v with q's sign)
// is the same product, and two of at most 127 * 127 fit.
__attribute__((target("avx2"))) void DotAvx2(const int8_t* query, const int8_t* vectors,
                                             size_t stride, std::span<int32_t> dots) {
  const __m256i ones = _mm256_set1_epi16(1);
  for (int32_t& dot : dots) {
    __m256i sums = _mm256_setzero_si256();
    for (size_t i = 0; i < stride; i += 32) {
      if (i % 64 == 0) AskFor(vectors + i);
      const __m256i q = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(query + i));
      const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(vectors + i));
      const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(q), _mm256_sign_epi8(v, q));
      sums = _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, ones));
    }
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4E));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xB1));
    dot = _mm_cvtsi128_si32(half);
    vectors += stride;
  }
}

// The instruction multiplies unsigned by signed: vectors are moved up by 128. What that adds, 128
// times the sum of the query, is the same for all of them, and taken off at the end.
__attribute__((target("avx512f,avx512bw,avx512vnni"))) void DotVnni(const int8_t* query,
                                                                    const int8_t* vectors,
                                                                    size_t stride,
                                                                    std::span<int32_t> dots) {
  const __m512i up = _mm512_set1_epi8(static_cast<char>(0x80));
  int32_t added = 0;
  for (size_t i = 0; i < stride; ++i) added += 128 * int32_t{query[i]};
  for (int32_t& dot : dots) {
    __m512i sums = _mm512_setzero_si512();
    for (size_t i = 0; i < stride; i += kStrideUnit) {
      AskFor(vectors + i);
      const __m512i moved = _mm512_xor_si512(_mm512_loadu_si512(vectors + i), up);
      sums = _mm512_dpbusd_epi32(sums, moved, _mm512_loadu_si512(query + i));
    }
    dot = _mm512_reduce_add_epi32(sums) - added;
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
