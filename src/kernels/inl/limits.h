// The limit loops that every 16-lane vocabulary can say. The int8 loops differ by instruction and live in each folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/inl/prefetch.h"
#include "kernels/limits.h"

namespace inferens::inl {

template <class V>
uint64_t read_all(const std::byte* data, size_t bytes) {
  constexpr size_t kVector = 64;
  typename V::B any[4] = {V::bset(0), V::bset(0), V::bset(0), V::bset(0)};
  for (size_t at = 0; at < bytes; at += kReadGrain) {
#pragma GCC unroll 16
    for (size_t i = 0; i < kReadGrain; i += kVector) {
      prefetch_ahead(data + at + i, kVector);
      auto& sum = any[i / kVector % 4];
      sum = V::bor(sum, V::bload(data + at + i));
    }
  }
  uint8_t out[kVector];
  V::bstore(out, V::bor(V::bor(any[0], any[1]), V::bor(any[2], any[3])));
  uint64_t result = 0;
  std::memcpy(&result, out, sizeof result);
  return result;
}

// Chains enough to hide a latency of 4 to 5 cycles at two products a cycle.
template <class V, int kChains>
float multiply_f32(int64_t rounds) {
  const typename V::F x = V::set(0.5f), y = V::set(1.0f);
  typename V::F sum[kChains];
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) sum[i] = V::set(static_cast<float>(i));
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) sum[i] = V::fma(sum[i], x, y);  // towards 2: never infinite, never denormal
  }
  for (int i = 1; i < kChains; ++i) sum[0] = V::add(sum[0], sum[i]);
  return V::reduce_add(sum[0]);
}

// kChains: accumulators of 16 floats that fit the registers.
template <class V, int kChains>
LimitLoops make_limits(LimitLoops::Products int8) {
  LimitLoops loops;
  loops.read = read_all<V>;
  loops.int8 = int8;
  loops.f32 = {multiply_f32<V, kChains>, 2 * 16 * kChains};
  return loops;
}

}  // namespace inferens::inl
