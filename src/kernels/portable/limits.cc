// The limits of plain C++, whatever the compiler makes of it.
#include "kernels/inl/limits.h"
#include "kernels/portable/simd.h"

namespace inferens::portable {
namespace {

constexpr int kChains = 4;

float multiply_int8(int64_t rounds) {
  Simd::B w = Simd::bset(3);
  const int8_t a[4] = {-5, 5, -3, 3};  // sums to nothing, so that no round count overflows
  Simd::I sum[kChains] = {Simd::iset(0), Simd::iset(1), Simd::iset(2), Simd::iset(3)};
  for (int64_t r = 0; r < rounds; ++r) {
    for (auto& s : sum) {
      asm volatile("" : : "r"(w.data()) : "memory");  // else the product, the same each time, is made once
      s = Simd::dot<true>(s, w, a);
    }
  }
  for (int i = 1; i < kChains; ++i) sum[0] = Simd::iadd(sum[0], sum[i]);
  return static_cast<float>(Simd::reduce_iadd(sum[0]));
}

}  // namespace

const LimitLoops& limits() {
  static const LimitLoops loops = inl::make_limits<Simd, kChains>({multiply_int8, 2 * 64 * kChains});
  return loops;
}

}  // namespace inferens::portable
