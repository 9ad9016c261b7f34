// A whole panel with many rows by AMX: int8 tiles do the exact integer dots of 16 rows by 16 outputs by 32 columns at once;
// scales are applied by AVX-512 in the fixed order of kernels/inl/matmul.h, so the bits equal those of every other path.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/activation_tiles.h"
#include "kernels/avx512/simd.h"
#include "kernels/inl/matmul.h"
#include "kernels/kernel_table.h"

namespace inferens::amx {

using Simd = avx512::Simd;

// Register use: C in 0-3, A (activations) in 4 and 5, B (weights) in 6 and 7, two of each so that loads overlap products.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// columns: 32 for whole blocks, 16 for half groups.
inline void configure_tiles(int columns) {
  TileConfig c;
  for (int t = 0; t < 4; ++t) {
    c.row_bytes[t] = 64;
    c.rows[t] = 16;
  }
  for (int t = 4; t < 6; ++t) {
    c.row_bytes[t] = static_cast<uint16_t>(columns);
    c.rows[t] = 16;
  }
  for (int t = 6; t < 8; ++t) {
    c.row_bytes[t] = 64;
    c.rows[t] = static_cast<uint8_t>(columns / 4);
  }
  // GCC's intrinsic names only 8 of the 64 bytes as its input; without this the other stores are dropped.
  asm volatile("" : : "r"(&c) : "memory");
  _tile_loadconfig(&c);
}

constexpr int kDotsAtOnce = 4;  // C tiles in flight: hides the latency of one product behind the others

// Dots of `count` ≤ 4 consecutive groups into c [4][16][16] int32.
template <bool kSignedWeights, int kGroupsPerBlock>
inline void dot_groups(const uint8_t* records, int64_t record_bytes, const uint8_t* quads, int first, int count, int32_t* c) {
  auto a = [&](int g) {
    int group = first + g;
    return records + group / kGroupsPerBlock * record_bytes + group % kGroupsPerBlock * (kBlockColumns / kGroupsPerBlock);
  };
  auto b = [&](int g) { return quads + (first + g) * (512 / kGroupsPerBlock); };
#define INFERENS_AMX_DOT(C, A, B, G)             \
  if (G < count) {                               \
    _tile_zero(C);                               \
    _tile_loadd(A, a(G), kBlockColumns);         \
    _tile_loadd(B, b(G), 64);                    \
    if constexpr (kSignedWeights) {              \
      _tile_dpbssd(C, A, B);                     \
    } else {                                     \
      _tile_dpbsud(C, A, B);                     \
    }                                            \
    _tile_stored(C, c + G * 256, 64);            \
  }
  INFERENS_AMX_DOT(0, 4, 6, 0)
  INFERENS_AMX_DOT(1, 5, 7, 1)
  INFERENS_AMX_DOT(2, 4, 6, 2)
  INFERENS_AMX_DOT(3, 5, 7, 3)
#undef INFERENS_AMX_DOT
}

// Adds the scaled dots of one group, sum += dot * scale [- min * sum of activations], for one row.
template <WeightFormat kFormat>
inline __attribute__((always_inline)) __m512 add_scaled(const inl::Strip& strip, const uint8_t* record, int height, int group, int row,
                                                        const int32_t* dots, __m512 sum) {
  constexpr FormatTraits t = format_traits(kFormat);
  __m512 a = _mm512_set1_ps(inl::float_at(record + TileRecord::scale(height) + 4 * row));
  __m512 dot = _mm512_cvtepi32_ps(_mm512_load_si512(dots + row * 16));
  sum = _mm512_fmadd_ps(dot, _mm512_mul_ps(_mm512_load_ps(strip.scales + group * 16), a), sum);
  if constexpr (t.has_min()) {
    __m512 neg_sum = _mm512_set1_ps(inl::float_at(record + TileRecord::neg_sum(height) + 4 * row));
    if constexpr (t.half_groups()) {
      int32_t count = inl::int_at(record + TileRecord::neg_count(height, 1 + group % 2) + 4 * row);
      neg_sum = _mm512_mul_ps(a, _mm512_cvtepi32_ps(_mm512_set1_epi32(count)));
    }
    sum = _mm512_fmadd_ps(_mm512_load_ps(strip.mins + group * 16), neg_sum, sum);
  }
  return sum;
}

// Blocks [0, strip.blocks) of one tile of `height` rows into its outputs. A full tile keeps its 16 sums in registers; a
// lower one loops over the rows it has (what lies behind them is not numbers: denormals would cost a hundredfold).
template <WeightFormat kFormat>
void strip_tile(const inl::Strip& strip, const uint8_t* records, int height, bool first, float* out, int64_t out_stride) {
  constexpr FormatTraits t = format_traits(kFormat);
  constexpr int kGroups = t.half_groups() ? 2 : 1;
  alignas(64) int32_t dots[2][kDotsAtOnce * 256];
  const bool full = height == 16;
  int64_t record_bytes = TileRecord::bytes(height);
  __m512 sum[16];
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) sum[r] = first || !full ? _mm512_setzero_ps() : _mm512_loadu_ps(out + r * out_stride);
  for (int r = 0; first && !full && r < height; ++r) _mm512_storeu_ps(out + r * out_stride, _mm512_setzero_ps());
  int groups = strip.blocks * kGroups;
  for (int g0 = 0, turn = 0; g0 < groups; g0 += kDotsAtOnce, turn ^= 1) {
    int count = groups - g0 < kDotsAtOnce ? groups - g0 : kDotsAtOnce;
    int32_t* c = dots[turn];
    dot_groups<(t.zero_shift >= 0), kGroups>(records, record_bytes, strip.quads, g0, count, c);
    auto record = [&](int g) { return records + (g0 + g) / kGroups * record_bytes; };
    if (full) {
      for (int g = 0; g < count; ++g) {
#pragma GCC unroll 16
        for (int r = 0; r < 16; ++r) sum[r] = add_scaled<kFormat>(strip, record(g), 16, g0 + g, r, c + g * 256, sum[r]);
      }
    } else {
      for (int r = 0; r < height; ++r) {
        __m512 row_sum = _mm512_loadu_ps(out + r * out_stride);
        for (int g = 0; g < count; ++g) row_sum = add_scaled<kFormat>(strip, record(g), height, g0 + g, r, c + g * 256, row_sum);
        _mm512_storeu_ps(out + r * out_stride, row_sum);
      }
    }
  }
  if (!full) return;
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) _mm512_storeu_ps(out + r * out_stride, sum[r]);
}

// With a zero point the bytes become signed, so that the dots need no correction.
template <WeightFormat kFormat>
void unpack_signed_strip(const uint8_t* panel, int64_t blocks, int64_t first, inl::Strip& strip) {
  constexpr FormatTraits t = format_traits(kFormat);
  inl::unpack_strip<Simd, kFormat>(panel, blocks, first, strip);
  if constexpr (t.zero_shift >= 0) {
    const __m512i zero = _mm512_set1_epi8(static_cast<char>(1 << t.zero_shift));
    for (int i = 0; i < strip.blocks * 8; ++i) {
      __m512i* p = reinterpret_cast<__m512i*>(strip.quads + i * 64);
      _mm512_store_si512(p, _mm512_sub_epi8(_mm512_load_si512(p), zero));
    }
  }
}

template <WeightFormat kFormat>
void dot_panel_tiles(const PanelRun& run, const ActivationTiles& tiles, float* out, int64_t out_stride, uint8_t* scratch) {
  configure_tiles(format_traits(kFormat).half_groups() ? 16 : 32);
  inl::Strip strips[kMaxPanelRun];
  for (int64_t first = 0; first < run.blocks; first += inl::kStripBlocks) {
    for (int p = 0; p < run.count; ++p) {
      strips[p] = inl::strip_in(scratch, p, run.blocks - first);
      unpack_signed_strip<kFormat>(run.panel(p), run.blocks, first, strips[p]);
    }
    for (int64_t t = 0; t < tiles.tiles(); ++t) {
      int height = tiles.tile_height(t);
      const uint8_t* records = tiles.tile(t) + first * TileRecord::bytes(height);
      for (int p = 0; p < run.count; ++p) {
        strip_tile<kFormat>(strips[p], records, height, first == 0, out + t * tiles.tile_rows * out_stride + p * kPanelRows, out_stride);
      }
    }
  }
  _tile_release();
}

}  // namespace inferens::amx
