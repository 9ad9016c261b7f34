// Work on single rows: norms, activations, sums. Sums run over 4 interleaved vector accumulators in a fixed order.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/inl/math.h"

namespace inferens::inl {

template <class V>
inline float sum_of_squares(const float* x, int64_t n) {
  typename V::F a[4] = {V::zero(), V::zero(), V::zero(), V::zero()};
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    for (int j = 0; j < 4; ++j) {
      auto v = V::load(x + i + 16 * j);
      a[j] = V::fma(v, v, a[j]);
    }
  }
  for (; i < n; i += 16) {
    auto v = V::load_n(x + i, static_cast<int>(n - i));
    a[0] = V::fma(v, v, a[0]);
  }
  return V::reduce_add(V::add(V::add(a[0], a[1]), V::add(a[2], a[3])));
}

// out = x / sqrt(mean(x²) + epsilon) * weight. In place is fine. (Zhang and Sennrich, arXiv 1910.07467)
template <class V>
void rms_norm(const float* x, const float* weight, int64_t n, float epsilon, float* out) {
  float mean = sum_of_squares<V>(x, n) / static_cast<float>(n);
  auto scale = V::set(1.0f / std::sqrt(mean + epsilon));
  for (int64_t i = 0; i < n; i += 16) {
    int left = static_cast<int>(n - i < 16 ? n - i : 16);
    V::store_n(out + i, V::mul(V::mul(V::load_n(x + i, left), scale), V::load_n(weight + i, left)), left);
  }
}

template <class V>
void add_rows(float* x, const float* y, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    int left = static_cast<int>(n - i < 16 ? n - i : 16);
    V::store_n(x + i, V::add(V::load_n(x + i, left), V::load_n(y + i, left)), left);
  }
}

template <class V>
void scale_row(float* x, float by, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    int left = static_cast<int>(n - i < 16 ? n - i : 16);
    V::store_n(x + i, V::mul(V::load_n(x + i, left), V::set(by)), left);
  }
}

// gate = act(gate) * up
template <class V>
void gated_silu(float* gate, const float* up, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    int left = static_cast<int>(n - i < 16 ? n - i : 16);
    V::store_n(gate + i, V::mul(silu<V>(V::load_n(gate + i, left)), V::load_n(up + i, left)), left);
  }
}

template <class V>
void gated_gelu(float* gate, const float* up, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    int left = static_cast<int>(n - i < 16 ? n - i : 16);
    V::store_n(gate + i, V::mul(gelu_tanh<V>(V::load_n(gate + i, left)), V::load_n(up + i, left)), left);
  }
}

}  // namespace inferens::inl
