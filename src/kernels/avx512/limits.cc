// The limits of AVX-512 with VNNI.
#include "kernels/inl/limits.h"
#include "kernels/avx512/simd.h"

namespace inferens::avx512 {
namespace {

constexpr int kChains = 16;

float multiply_int8(int64_t rounds) {
  const __m512i w = _mm512_set1_epi8(3), a = _mm512_set1_epi8(-5);
  __m512i sum[kChains];
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) sum[i] = _mm512_set1_epi32(i);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) sum[i] = _mm512_dpbusd_epi32(sum[i], w, a);
  }
  for (int i = 1; i < kChains; ++i) sum[0] = _mm512_add_epi32(sum[0], sum[i]);
  return static_cast<float>(_mm512_reduce_add_epi32(sum[0]));
}

}  // namespace

const LimitLoops& limits() {
  static const LimitLoops loops = inl::make_limits<Simd, kChains>({multiply_int8, 2 * 64 * kChains});
  return loops;
}

}  // namespace inferens::avx512
