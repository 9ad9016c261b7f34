// Packed panels back to unsigned bytes and float scales, in registers or into a strip in cache. Mirrors kernels/pack.cc.
#pragma once

#include <cstdint>
#include <utility>

#include "kernels/weight_format.h"

namespace inferens::inl {

// The 8 column quads of a block: quad j holds columns 4j … 4j+3 of 16 rows.
template <class V, int kBits>
inline void unpack_codes(const uint8_t* p, typename V::B (&w)[8]) {
  using B = typename V::B;
  if constexpr (kBits == 8) {
    for (int j = 0; j < 8; ++j) w[j] = V::bload(p + 64 * j);
    return;
  } else if constexpr (kBits >= 4) {
    const B low = V::bset(15);
    for (int i = 0; i < 4; ++i) {
      B x = V::bload(p + 64 * i);
      w[i] = V::band(x, low);
      w[i + 4] = V::band(V::template bshr<4>(x), low);
    }
    if constexpr (kBits == 5) {
      const B h = V::bload(p + 256);
      const B m = V::bset(16);
      w[0] = V::bor(w[0], V::band(V::template bshl<4>(h), m));
      w[1] = V::bor(w[1], V::band(V::template bshl<3>(h), m));
      w[2] = V::bor(w[2], V::band(V::template bshl<2>(h), m));
      w[3] = V::bor(w[3], V::band(V::template bshl<1>(h), m));
      w[4] = V::bor(w[4], V::band(h, m));
      w[5] = V::bor(w[5], V::band(V::template bshr<1>(h), m));
      w[6] = V::bor(w[6], V::band(V::template bshr<2>(h), m));
      w[7] = V::bor(w[7], V::band(V::template bshr<3>(h), m));
    } else if constexpr (kBits == 6) {
      const B m = V::bset(48);
      for (int i = 0; i < 2; ++i) {
        B h = V::bload(p + 256 + 64 * i);
        w[i] = V::bor(w[i], V::band(V::template bshl<4>(h), m));
        w[i + 2] = V::bor(w[i + 2], V::band(V::template bshl<2>(h), m));
        w[i + 4] = V::bor(w[i + 4], V::band(h, m));
        w[i + 6] = V::bor(w[i + 6], V::band(V::template bshr<2>(h), m));
      }
    }
  } else {
    const B two = V::bset(3);
    for (int i = 0; i < 2; ++i) {
      B x = V::bload(p + 64 * i);
      w[i] = V::band(x, two);
      w[i + 2] = V::band(V::template bshr<2>(x), two);
      w[i + 4] = V::band(V::template bshr<4>(x), two);
      w[i + 6] = V::band(V::template bshr<6>(x), two);
    }
    if constexpr (kBits == 3) {
      const B h = V::bload(p + 128);
      const B m = V::bset(4);
      w[0] = V::bor(w[0], V::band(V::template bshl<2>(h), m));
      w[1] = V::bor(w[1], V::band(V::template bshl<1>(h), m));
      w[2] = V::bor(w[2], V::band(h, m));
      w[3] = V::bor(w[3], V::band(V::template bshr<1>(h), m));
      w[4] = V::bor(w[4], V::band(V::template bshr<2>(h), m));
      w[5] = V::bor(w[5], V::band(V::template bshr<3>(h), m));
      w[6] = V::bor(w[6], V::band(V::template bshr<4>(h), m));
      w[7] = V::bor(w[7], V::band(V::template bshr<5>(h), m));
    }
  }
}

template <class V, WeightFormat kFormat>
inline void unpack_block(const uint8_t* p, typename V::B (&w)[8]) {
  constexpr FormatTraits t = format_traits(kFormat);
  unpack_codes<V, t.bits>(p, w);
  if constexpr (t.lookup) {
    for (auto& x : w) x = V::blookup(x, lookup_table(kFormat));
  }
}

// Scales of one block: one vector of 16 rows per group (two for half groups). Products d*scale are exact in f32.
template <class V>
struct BlockScales {
  typename V::F scale[2];
  typename V::F min[2];
};

template <class V, ScaleKind kKind>
inline void unpack_scales(const uint8_t* scales, int64_t block, BlockScales<V>& out) {
  const uint8_t* record = scales + block / blocks_per_scale_record(kKind) * scale_record_bytes(kKind);
  auto half = [](const uint8_t* p) { return V::load_f16(reinterpret_cast<const uint16_t*>(p)); };
  auto i8 = [](const uint8_t* p) { return V::load_i8(reinterpret_cast<const int8_t*>(p)); };
  if constexpr (kKind == ScaleKind::kHalf) {
    out.scale[0] = half(record);
  } else if constexpr (kKind == ScaleKind::kHalfMin) {
    out.scale[0] = half(record);
    // The file's min is added (w = d*q + m); ours is subtracted.
    out.min[0] = V::sub(V::zero(), half(record + 32));
  } else if constexpr (kKind == ScaleKind::kExponent) {
    // 2^(e-128), by its bits; e = 0 and 1 are the smallest, denormal ones: 2^-128 and 2^-127.
    alignas(64) float s[16];
    for (int i = 0; i < 16; ++i) s[i] = exponent_to_half_scale(record[i]);
    out.scale[0] = V::load(s);
  } else if constexpr (kKind == ScaleKind::kHalf16) {
    for (int h = 0; h < 2; ++h) out.scale[h] = half(record + 32 * h);
  } else if constexpr (kKind == ScaleKind::kSuper) {
    out.scale[0] = half(record);
  } else if constexpr (kKind == ScaleKind::kSuper32Float) {
    out.scale[0] = V::mul(V::load(reinterpret_cast<const float*>(record)), i8(record + 64 + block % 8 * 16));
  } else if constexpr (kKind == ScaleKind::kSuper16Float) {
    for (int h = 0; h < 2; ++h) out.scale[h] = V::mul(V::load(reinterpret_cast<const float*>(record)), i8(record + 64 + (block % 8 * 2 + h) * 16));
  } else if constexpr (kKind == ScaleKind::kSuper32Min) {
    const uint8_t* own = record + 64 + block % 8 * 32;
    out.scale[0] = V::mul(half(record), V::load_u8(own));
    out.min[0] = V::mul(half(record + 32), V::load_u8(own + 16));
  } else if constexpr (kKind == ScaleKind::kSuper32Signed) {
    out.scale[0] = V::mul(half(record), i8(record + 32 + block % 8 * 16));
  } else if constexpr (kKind == ScaleKind::kSuper16Signed) {
    for (int h = 0; h < 2; ++h) out.scale[h] = V::mul(half(record), i8(record + 32 + (block % 8 * 2 + h) * 16));
  } else {
    for (int h = 0; h < 2; ++h) {
      const uint8_t* own = record + 64 + (block % 8 * 2 + h) * 32;
      out.scale[h] = V::mul(half(record), V::load_u8(own));
      out.min[h] = V::mul(half(record + 32), V::load_u8(own + 16));
    }
  }
}

}  // namespace inferens::inl
