// The limits of 256-bit VNNI.
#define INFERENS_AVX2_NAMESPACE avxvnni
#include "kernels/avx2/simd.h"
#include "kernels/inl/limits.h"

namespace inferens::avxvnni {
namespace {

constexpr int kChains = 12;  // of 16 registers

float multiply_int8(int64_t rounds) {
  const __m256i w = _mm256_set1_epi8(3), a = _mm256_set1_epi8(-5);
  __m256i sum[kChains];
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) sum[i] = _mm256_set1_epi32(i);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) sum[i] = _mm256_dpbusd_avx_epi32(sum[i], w, a);
  }
  for (int i = 1; i < kChains; ++i) sum[0] = _mm256_add_epi32(sum[0], sum[i]);
  return static_cast<float>(Simd::reduce_iadd({sum[0], sum[0]}));
}

}  // namespace

const LimitLoops& limits() {
  static const LimitLoops loops = inl::make_limits<Simd, kChains / 2>({multiply_int8, 2 * 32 * kChains});
  return loops;
}

}  // namespace inferens::avxvnni
