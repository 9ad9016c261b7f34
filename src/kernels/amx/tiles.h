// A whole panel with many rows by AMX: int8 tiles do the exact integer dots of 16 rows by 16 outputs by 32 columns at once;
// scales are applied by AVX-512 in the fixed order of kernels/inl/matmul.h, so the bits equal those of every other path.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <utility>

#include "kernels/activation_tiles.h"
#include "kernels/avx512/simd.h"
#include "kernels/inl/matmul.h"
#include "kernels/kernel_table.h"

namespace inferens::amx {

using Simd = avx512::Simd;

// Register use: C in 0-3, A (activations) in 4 and 5, B (weights) in 6 and 7, two of each so that loads overlap products.
// With a lower tile beside a full one (17 to 31 rows), its C are 2 and 3 and its A is 5, only as high as it is.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// columns: 32 for whole blocks, 16 for half groups.
inline void configure_tiles(int columns, int low_rows = 16) {
  TileConfig c;
  for (int t = 0; t < 4; ++t) {
    c.row_bytes[t] = 64;
    c.rows[t] = static_cast<uint8_t>(t < 2 ? 16 : low_rows);
  }
  for (int t = 4; t < 6; ++t) {
    c.row_bytes[t] = static_cast<uint16_t>(columns);
    c.rows[t] = static_cast<uint8_t>(t == 4 ? 16 : low_rows);
  }
  for (int t = 6; t < 8; ++t) {
    c.row_bytes[t] = 64;
    c.rows[t] = static_cast<uint8_t>(columns / 4);
  }
  // GCC's intrinsic names only 8 of the 64 bytes as its input; without this the other stores are dropped.
  asm volatile("" : : "r"(&c) : "memory");
  _tile_loadconfig(&c);
}

// C tiles take turns, and so do the places in memory they are stored to: the dots of the next groups are under way while
// those of one are scaled. More places would make loads wait for stores to addresses that look alike in their low 12 bits.
constexpr int kDotPlaces = 4;
constexpr int kDotsAhead = 2;

// Dots of group `g` into c [16][16] int32 by the `kPlace`-th set of tiles.
template <int kPlace, bool kSignedWeights, int kGroupsPerBlock>
inline __attribute__((always_inline)) void dot_group(const uint8_t* records, int64_t record_bytes, const uint8_t* quads, int g, int32_t* c) {
  const uint8_t* a = records + g / kGroupsPerBlock * record_bytes + g % kGroupsPerBlock * (kBlockColumns / kGroupsPerBlock);
  const uint8_t* b = quads + g * (512 / kGroupsPerBlock);
#define INFERENS_AMX_DOT(C, A, B)     \
  _tile_zero(C);                      \
  _tile_loadd(A, a, kBlockColumns);   \
  _tile_loadd(B, b, 64);              \
  if constexpr (kSignedWeights) {     \
    _tile_dpbssd(C, A, B);            \
  } else {                            \
    _tile_dpbsud(C, A, B);            \
  }                                   \
  _tile_stored(C, c, 64);
  if constexpr (kPlace == 0) { INFERENS_AMX_DOT(0, 4, 6) }
  if constexpr (kPlace == 1) { INFERENS_AMX_DOT(1, 5, 7) }
  if constexpr (kPlace == 2) { INFERENS_AMX_DOT(2, 4, 6) }
  if constexpr (kPlace == 3) { INFERENS_AMX_DOT(3, 5, 7) }
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
template <WeightFormat kFormat, bool kFull>
void strip_tile(const inl::Strip& strip, const uint8_t* records, int height, bool first, float* out, int64_t out_stride) {
  constexpr FormatTraits t = format_traits(kFormat);
  constexpr int kGroups = t.half_groups() ? 2 : 1;
  alignas(64) int32_t dots[kDotPlaces][256];
  const int64_t record_bytes = TileRecord::bytes(height);
  const int groups = strip.blocks * kGroups;
  __m512 sum[16];
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) sum[r] = first || r >= height ? _mm512_setzero_ps() : _mm512_loadu_ps(out + r * out_stride);
  auto start_dot = [&]<int kPlace>(int g) __attribute__((always_inline)) {
    if (g < groups) dot_group<kPlace, (t.zero_shift >= 0), kGroups>(records, record_bytes, strip.quads, g, dots[kPlace]);
  };
  auto scale_dot = [&]<int kPlace>(int g) __attribute__((always_inline)) {
    if (g >= groups) return;
    const uint8_t* record = records + g / kGroups * record_bytes;
    if constexpr (kFull) {
#pragma GCC unroll 16
      for (int r = 0; r < 16; ++r) sum[r] = add_scaled<kFormat>(strip, record, 16, g, r, dots[kPlace], sum[r]);
    } else {
#pragma GCC unroll 15
      for (int r = 0; r < 15; ++r) {
        if (r < height) sum[r] = add_scaled<kFormat>(strip, record, height, g, r, dots[kPlace], sum[r]);
      }
    }
  };
  start_dot.template operator()<0>(0);
  start_dot.template operator()<1>(1);
  for (int g = 0; g < groups; g += kDotPlaces) {
    [&]<int... p>(std::integer_sequence<int, p...>) __attribute__((always_inline)) {
      ((start_dot.template operator()<(p + kDotsAhead) % kDotPlaces>(g + p + kDotsAhead), scale_dot.template operator()<p>(g + p)), ...);
    }(std::make_integer_sequence<int, kDotPlaces>());
  }
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) {
    if (r < height) _mm512_storeu_ps(out + r * out_stride, sum[r]);
  }
}

// The same for a full tile and the lower one behind it at once: both use a loaded B, and the lower one costs only the rows
// that it has. Its sums stay in memory.
template <WeightFormat kFormat>
void strip_tile_and_low(const inl::Strip& strip, const uint8_t* records, const uint8_t* low_records, int low, bool first, float* out,
                        int64_t out_stride) {
  constexpr FormatTraits t = format_traits(kFormat);
  constexpr int kGroups = t.half_groups() ? 2 : 1;
  alignas(64) int32_t dots[kDotPlaces][256];
  alignas(64) int32_t low_dots[kDotPlaces][15 * 16];
  alignas(64) float low_sum[15 * 16];
  const int64_t record_bytes = TileRecord::bytes(16);
  const int64_t low_bytes = TileRecord::bytes(low);
  const int groups = strip.blocks * kGroups;
  float* low_out = out + 16 * out_stride;
  __m512 sum[16];
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) sum[r] = first ? _mm512_setzero_ps() : _mm512_loadu_ps(out + r * out_stride);
  for (int r = 0; r < low; ++r) _mm512_store_ps(low_sum + r * 16, first ? _mm512_setzero_ps() : _mm512_loadu_ps(low_out + r * out_stride));
  auto start_dots = [&]<int kPlace>(int g) __attribute__((always_inline)) {
    if (g >= groups) return;
    constexpr bool kSigned = t.zero_shift >= 0;
    const int64_t in_record = g % kGroups * (kBlockColumns / kGroups);
    const uint8_t* a = records + g / kGroups * record_bytes + in_record;
    const uint8_t* low_a = low_records + g / kGroups * low_bytes + in_record;
    const uint8_t* b = strip.quads + g * (512 / kGroups);
    int32_t* c = dots[kPlace];
    int32_t* low_c = low_dots[kPlace];
#define INFERENS_AMX_DOTS(C, LOW, B)     \
  _tile_zero(C);                         \
  _tile_zero(LOW);                       \
  _tile_loadd(B, b, 64);                 \
  _tile_loadd(4, a, kBlockColumns);      \
  _tile_loadd(5, low_a, kBlockColumns);  \
  if constexpr (kSigned) {               \
    _tile_dpbssd(C, 4, B);               \
    _tile_dpbssd(LOW, 5, B);             \
  } else {                               \
    _tile_dpbsud(C, 4, B);               \
    _tile_dpbsud(LOW, 5, B);             \
  }                                      \
  _tile_stored(C, c, 64);                \
  _tile_stored(LOW, low_c, 64);
    if constexpr (kPlace % 2 == 0) { INFERENS_AMX_DOTS(0, 2, 6) }
    if constexpr (kPlace % 2 == 1) { INFERENS_AMX_DOTS(1, 3, 7) }
#undef INFERENS_AMX_DOTS
  };
  auto scale_dots = [&]<int kPlace>(int g) __attribute__((always_inline)) {
    if (g >= groups) return;
    const uint8_t* record = records + g / kGroups * record_bytes;
    const uint8_t* low_record = low_records + g / kGroups * low_bytes;
#pragma GCC unroll 16
    for (int r = 0; r < 16; ++r) sum[r] = add_scaled<kFormat>(strip, record, 16, g, r, dots[kPlace], sum[r]);
    for (int r = 0; r < low; ++r) {
      __m512 s = add_scaled<kFormat>(strip, low_record, low, g, r, low_dots[kPlace], _mm512_load_ps(low_sum + r * 16));
      _mm512_store_ps(low_sum + r * 16, s);
    }
  };
  start_dots.template operator()<0>(0);
  start_dots.template operator()<1>(1);
  for (int g = 0; g < groups; g += kDotPlaces) {
    [&]<int... p>(std::integer_sequence<int, p...>) __attribute__((always_inline)) {
      ((start_dots.template operator()<(p + kDotsAhead) % kDotPlaces>(g + p + kDotsAhead), scale_dots.template operator()<p>(g + p)), ...);
    }(std::make_integer_sequence<int, kDotPlaces>());
  }
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) _mm512_storeu_ps(out + r * out_stride, sum[r]);
  for (int r = 0; r < low; ++r) _mm512_storeu_ps(low_out + r * out_stride, _mm512_load_ps(low_sum + r * 16));
}

// With a zero point the bytes become signed, so that the dots need no correction.
template <WeightFormat kFormat>
void unpack_signed_strip(const uint8_t* panel, int64_t blocks, int64_t first, inl::Strip& strip) {
  constexpr int kZeroShift = format_traits(kFormat).zero_shift;
  const __m512i zero = _mm512_set1_epi8(static_cast<char>(kZeroShift < 0 ? 0 : 1 << kZeroShift));
  inl::unpack_strip_as<Simd, kFormat>(panel, blocks, first, strip, [zero](__m512i codes) { return _mm512_sub_epi8(codes, zero); });
}

template <WeightFormat kFormat>
void dot_panel_tiles(const PanelRun& run, const ActivationTiles& tiles, float* out, int64_t out_stride, uint8_t* scratch) {
  const int last = tiles.tile_height(tiles.tiles() - 1);
  const bool pair = tiles.tiles() == 2 && last < 16;
  configure_tiles(format_traits(kFormat).half_groups() ? 16 : 32, pair ? last : 16);
  inl::Strip strips[kMaxPanelRun];
  for (int64_t first = 0; first < run.blocks; first += inl::kStripBlocks) {
    for (int p = 0; p < run.count; ++p) {
      strips[p] = inl::strip_in(scratch, p, run.blocks - first);
      unpack_signed_strip<kFormat>(run.panel(p), run.blocks, first, strips[p]);
    }
    for (int p = 0; pair && p < run.count; ++p) {
      strip_tile_and_low<kFormat>(strips[p], tiles.tile(0) + first * TileRecord::bytes(16), tiles.tile(1) + first * TileRecord::bytes(last),
                                  last, first == 0, out + p * kPanelRows, out_stride);
    }
    for (int64_t t = 0; !pair && t < tiles.tiles(); ++t) {
      int height = tiles.tile_height(t);
      const uint8_t* records = tiles.tile(t) + first * TileRecord::bytes(height);
      for (int p = 0; p < run.count; ++p) {
        auto dot = height == 16 ? strip_tile<kFormat, true> : strip_tile<kFormat, false>;
        dot(strips[p], records, height, first == 0, out + t * tiles.tile_rows * out_stride + p * kPanelRows, out_stride);
      }
    }
  }
  _tile_release();
}

}  // namespace inferens::amx
