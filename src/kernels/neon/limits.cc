// The limits of NEON with dot products.
#include "kernels/inl/limits.h"
#include "kernels/neon/simd.h"

namespace inferens::neon {
namespace {

constexpr int kChains = 16;

float multiply_int8(int64_t rounds) {
  const int8x16_t w = vdupq_n_s8(3), a = vdupq_n_s8(-5);
  int32x4_t sum[kChains];
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) sum[i] = vdupq_n_s32(i);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) sum[i] = vdotq_s32(sum[i], w, a);
  }
  for (int i = 1; i < kChains; ++i) sum[0] = vaddq_s32(sum[0], sum[i]);
  return static_cast<float>(vaddvq_s32(sum[0]));
}

}  // namespace

const LimitLoops& limits() {
  static const LimitLoops loops = inl::make_limits<Simd, 4>({multiply_int8, 2 * 16 * kChains});
  return loops;
}

}  // namespace inferens::neon
