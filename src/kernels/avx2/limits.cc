// The limits of AVX2.
#define INFERENS_AVX2_NAMESPACE avx2
#include "kernels/avx2/simd.h"
#include "kernels/inl/limits.h"

namespace inferens::avx2 {
namespace {

constexpr int kChains = 8;

// Without a dot-product instruction: pair sums of bytes, pair sums of words, addition.
float multiply_int8(int64_t rounds) {
  const __m256i ones = _mm256_set1_epi16(1), a = _mm256_set1_epi8(-5);
  __m256i w = _mm256_set1_epi8(3);
  __m256i sum[kChains];
#pragma GCC unroll 8
  for (int i = 0; i < kChains; ++i) sum[i] = _mm256_set1_epi32(i);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 8
    for (int i = 0; i < kChains; ++i) {
      asm volatile("" : "+x"(w));  // else the product, the same each time, is taken out of the loop
      sum[i] = _mm256_add_epi32(sum[i], _mm256_madd_epi16(_mm256_maddubs_epi16(w, a), ones));
    }
  }
  for (int i = 1; i < kChains; ++i) sum[0] = _mm256_add_epi32(sum[0], sum[i]);
  return static_cast<float>(Simd::reduce_iadd({sum[0], sum[0]}));
}

}  // namespace

const LimitLoops& limits() {
  static const LimitLoops loops = inl::make_limits<Simd, 6>({multiply_int8, 2 * 32 * kChains});
  return loops;
}

}  // namespace inferens::avx2
