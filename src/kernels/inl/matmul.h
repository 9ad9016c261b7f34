// The integer matrix product of one panel of 16 outputs with one tile of R rows.
//
// The order of every float operation for an output is fixed: blocks ascending, and for each group
//   acc = fma(float(dot), scale * activation_scale, acc); then, with mins, acc = fma(min, -sum, acc).
// Integer dots are exact. So a row's bits do not depend on R, on the instruction set, or on how panels are shared out.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/activation_tiles.h"
#include "kernels/inl/prefetch.h"
#include "kernels/inl/unpack.h"
#include "kernels/weight_format.h"

namespace inferens::inl {

struct DotKind {
  bool has_min;
  bool has_zero;
  bool half_groups;
  bool small_codes;
};
constexpr DotKind dot_kind(FormatTraits t) { return {t.has_min(), t.zero_shift >= 0, t.half_groups(), t.small_codes()}; }

static inline float float_at(const uint8_t* p) {
  float v;
  std::memcpy(&v, p, 4);
  return v;
}
static inline int32_t int_at(const uint8_t* p) {
  int32_t v;
  std::memcpy(&v, p, 4);
  return v;
}

// One block into the accumulators of R rows.
template <class V, int R, DotKind kKind>
inline __attribute__((always_inline)) void dot_block(const typename V::B (&w)[8], const BlockScales<V>& s, const uint8_t* record,
                                                     int zero_shift, typename V::F (&acc)[R]) {
  using I = typename V::I;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    auto* q = reinterpret_cast<const int8_t*>(record) + r * kBlockColumns;
    auto a = V::set(float_at(record + TileRecord::scale(R) + 4 * r));
#pragma GCC unroll 2
    for (int h = 0; h < (kKind.half_groups ? 2 : 1); ++h) {
      constexpr int kQuads = kKind.half_groups ? 4 : 8;
      int part = kKind.half_groups ? 1 + h : 0;
      I d = V::izero();
      if constexpr (kKind.has_zero) d = V::ishl(V::iset(int_at(record + TileRecord::neg_count(R, part) + 4 * r)), zero_shift);
#pragma GCC unroll 8
      for (int j = 0; j < kQuads; ++j) d = V::template dot<kKind.small_codes>(d, w[h * kQuads + j], q + 4 * (h * kQuads + j));
      acc[r] = V::fma(V::to_float(d), V::mul(s.scale[h], a), acc[r]);
      if constexpr (kKind.has_min) {
        auto neg_sum = V::set(float_at(record + TileRecord::neg_sum(R) + 4 * r));
        if constexpr (kKind.half_groups) {
          neg_sum = V::mul(a, V::to_float(V::iset(int_at(record + TileRecord::neg_count(R, part) + 4 * r))));
        }
        acc[r] = V::fma(s.min[h], neg_sum, acc[r]);
      }
    }
  }
}

// A run of blocks of one panel, unpacked: quads [blocks][8][64] u8, scales and mins [blocks][groups][16] f32.
struct Strip {
  uint8_t* quads;
  float* scales;
  float* mins;
  int blocks;
};
constexpr int kStripBlocks = 32;  // 16 KiB of codes and 2 to 8 KiB of scales: half of a first-level cache
constexpr size_t kStripCodeBytes = kStripBlocks * 512;
constexpr size_t kStripScaleBytes = kStripBlocks * 2 * 16 * sizeof(float);
constexpr size_t kStripBytes = kStripCodeBytes + 2 * kStripScaleBytes;

// The `index`-th strip of a scratch, for at most `blocks_left` blocks.
inline __attribute__((always_inline)) Strip strip_in(uint8_t* scratch, int index, int64_t blocks_left) {
  uint8_t* base = scratch + static_cast<size_t>(index) * kStripBytes;
  return {base, reinterpret_cast<float*>(base + kStripCodeBytes), reinterpret_cast<float*>(base + kStripCodeBytes + kStripScaleBytes),
          static_cast<int>(blocks_left < kStripBlocks ? blocks_left : kStripBlocks)};
}

// Blocks from `first` on into a strip; `as_stored` turns the codes (unsigned) into what the dots want.
template <class V, WeightFormat kFormat, class AsStored>
inline void unpack_strip_as(const uint8_t* panel, int64_t panel_blocks, int64_t first, Strip& out, AsStored&& as_stored) {
  constexpr FormatTraits t = format_traits(kFormat);
  const uint8_t* scales = panel + panel_code_bytes(t, panel_blocks);
  constexpr int kGroups = t.half_groups() ? 2 : 1;
  for (int b = 0; b < out.blocks; ++b) {
    const uint8_t* codes = panel + (first + b) * code_bytes(t.bits);
    prefetch_ahead(codes, code_bytes(t.bits));
    typename V::B w[8];
    unpack_block<V, kFormat>(codes, w);
    for (int j = 0; j < 8; ++j) V::bstore(out.quads + b * 512 + j * 64, as_stored(w[j]));
    BlockScales<V> s;
    unpack_scales<V, t.scale>(scales, first + b, s);
    for (int h = 0; h < kGroups; ++h) {
      V::store(out.scales + (b * kGroups + h) * 16, s.scale[h]);
      if constexpr (t.has_min()) V::store(out.mins + (b * kGroups + h) * 16, s.min[h]);
    }
  }
}

template <class V, WeightFormat kFormat>
void unpack_strip(const uint8_t* panel, int64_t panel_blocks, int64_t first, Strip& out) {
  unpack_strip_as<V, kFormat>(panel, panel_blocks, first, out, [](typename V::B codes) { return codes; });
}

// out[r][0..15] of R rows, starting from zero (`first`) or from what out holds. `tile` points at the strip's first record.
template <class V, int R, DotKind kKind>
void dot_strip(const Strip& strip, const uint8_t* tile, int zero_shift, bool first, float* out, int64_t out_stride) {
  constexpr int kGroups = kKind.half_groups ? 2 : 1;
  typename V::F acc[R];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) acc[r] = first ? V::zero() : V::load(out + r * out_stride);
  for (int b = 0; b < strip.blocks; ++b) {
    typename V::B w[8];
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) w[j] = V::bload(strip.quads + b * 512 + j * 64);
    BlockScales<V> s;
#pragma GCC unroll 2
    for (int h = 0; h < kGroups; ++h) {
      s.scale[h] = V::load(strip.scales + (b * kGroups + h) * 16);
      if constexpr (kKind.has_min) s.min[h] = V::load(strip.mins + (b * kGroups + h) * 16);
    }
    dot_block<V, R, kKind>(w, s, tile + b * TileRecord::bytes(R), zero_shift, acc);
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) V::store(out + r * out_stride, acc[r]);
}

// A whole panel straight from its packed form, for few rows: the memory-bound case, unpacked in registers.
template <class V, WeightFormat kFormat, int R>
void dot_packed(const uint8_t* panel, int64_t blocks, const uint8_t* tile, float* out, int64_t out_stride) {
  constexpr FormatTraits t = format_traits(kFormat);
  const uint8_t* scales = panel + panel_code_bytes(t, blocks);
  typename V::F acc[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) acc[r] = V::zero();
  for (int64_t b = 0; b < blocks; ++b) {
    const uint8_t* codes = panel + b * code_bytes(t.bits);
    prefetch_ahead(codes, code_bytes(t.bits));
    typename V::B w[8];
    unpack_block<V, kFormat>(codes, w);
    BlockScales<V> s;
    unpack_scales<V, t.scale>(scales, b, s);
    dot_block<V, R, dot_kind(t)>(w, s, tile + b * TileRecord::bytes(R), t.zero_shift, acc);
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) V::store(out + r * out_stride, acc[r]);
}

// Float weights [columns][16] of kFormat with R rows of floats: columns ascending, one fma each.
template <class V, WeightFormat kFormat, int R>
void dot_float(const uint8_t* panel, int64_t columns, const float* x, int64_t x_stride, float* out, int64_t out_stride) {
  typename V::F acc[R];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) acc[r] = V::zero();
  for (int64_t k = 0; k < columns; ++k) {
    typename V::F w;
    if constexpr (kFormat == WeightFormat::kF32) w = V::load(reinterpret_cast<const float*>(panel) + 16 * k);
    if constexpr (kFormat == WeightFormat::kF16) w = V::load_f16(reinterpret_cast<const uint16_t*>(panel) + 16 * k);
    if constexpr (kFormat == WeightFormat::kBF16) w = V::load_bf16(reinterpret_cast<const uint16_t*>(panel) + 16 * k);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) acc[r] = V::fma(w, V::set(x[r * x_stride + k]), acc[r]);
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) V::store(out + r * out_stride, acc[r]);
}

}  // namespace inferens::inl
