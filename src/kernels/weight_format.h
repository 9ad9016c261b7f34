// How weights lie in memory once packed: panels of 16 output rows, blocks of 32 columns, so that one vector holds 4
// consecutive columns of 16 rows, which is what a dot-product instruction eats and what an AMX tile row is. The layout is
// the same for every instruction set.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace inferens {

constexpr int kPanelRows = 16;
constexpr int kBlockColumns = 32;

// Names the packed form in files (model/packed_cache.h). Raise the version when any byte of a packed matrix changes its
// place or meaning: files of older builds are then made anew. tests/kernels/pack_test.cc fails when it was forgotten.
inline constexpr std::string_view kPackedLayout = "panels16x32";
inline constexpr uint32_t kPackedVersion = 1;

enum class WeightFormat : uint8_t {
  kQ4_0, kQ4_1, kQ5_0, kQ5_1, kQ8_0, kQ2_K, kQ3_K, kQ4_K, kQ5_K, kQ6_K, kIQ4_NL, kIQ4_XS, kMXFP4,  // int8 dot products
  kIQ2_XXS, kIQ2_S, kIQ3_XXS, kIQ3_S, kIQ1_S, kIQ1_M, kTQ2_0, kQ1_0, kNVFP4,                        // the same, rarer
  kF32, kF16, kBF16,                                                                            // float products
};
constexpr int kIntegerFormats = 22;
// Formats with kernels of their own for few rows; the rarer ones are unpacked to strips for any number of rows.
constexpr int kDirectFormats = 13;
constexpr bool is_integer_format(WeightFormat f) { return static_cast<int>(f) < kIntegerFormats; }

// Where the scale of a group of columns comes from. "Super" blocks are 256 columns under one f16 scale.
enum class ScaleKind : uint8_t {
  kHalf,           // f16 scale[16] per block
  kHalfMin,        // f16 scale[16], f16 min[16] per block
  kExponent,       // e8m0 exponent[16] per block, halved (MXFP4)
  kHalf16,         // f16 scale[16] per half block
  kSuper,          // f16 d[16]
  kSuper32Min,     // f16 d[16], f16 dmin[16]; then per block u8 scale[16], u8 min[16]
  kSuper32Signed,  // f16 d[16]; then per block i8 scale[16]
  kSuper16Signed,  // f16 d[16]; then per half block i8 scale[16]
  kSuper16Min,     // f16 d[16], f16 dmin[16]; then per half block u8 scale[16], u8 min[16]
  kSuper32Float,   // f32 d[16]; then per block i8 scale[16]
  kSuper16Float,   // f32 d[16]; then per half block i8 scale[16]
};

// value = scale * (code - zero) [- min]; codes are unsigned with `bits` bits, or indexes into a table of 16 (lookup).
struct FormatTraits {
  int bits;
  ScaleKind scale;
  int zero_shift;  // zero = 1 << zero_shift; -1: no zero point
  bool lookup;
  constexpr bool has_min() const {
    return scale == ScaleKind::kHalfMin || scale == ScaleKind::kSuper32Min || scale == ScaleKind::kSuper16Min;
  }
  constexpr bool half_groups() const {
    return scale == ScaleKind::kHalf16 || scale == ScaleKind::kSuper16Signed || scale == ScaleKind::kSuper16Min || scale == ScaleKind::kSuper16Float;
  }
  // Codes as the dot product sees them stay below 128.
  constexpr bool small_codes() const { return bits < 8 && !lookup; }
};

constexpr FormatTraits format_traits(WeightFormat f) {
  switch (f) {
    case WeightFormat::kQ4_0: return {4, ScaleKind::kHalf, 3, false};
    case WeightFormat::kQ4_1: return {4, ScaleKind::kHalfMin, -1, false};
    case WeightFormat::kQ5_0: return {5, ScaleKind::kHalf, 4, false};
    case WeightFormat::kQ5_1: return {5, ScaleKind::kHalfMin, -1, false};
    case WeightFormat::kQ8_0: return {8, ScaleKind::kHalf, 7, false};
    case WeightFormat::kQ2_K: return {2, ScaleKind::kSuper16Min, -1, false};
    case WeightFormat::kQ3_K: return {3, ScaleKind::kSuper16Signed, 2, false};
    case WeightFormat::kQ4_K: return {4, ScaleKind::kSuper32Min, -1, false};
    case WeightFormat::kQ5_K: return {5, ScaleKind::kSuper32Min, -1, false};
    case WeightFormat::kQ6_K: return {6, ScaleKind::kSuper16Signed, 5, false};
    case WeightFormat::kIQ4_NL: return {4, ScaleKind::kHalf, 7, true};
    case WeightFormat::kIQ4_XS: return {4, ScaleKind::kSuper32Signed, 7, true};
    case WeightFormat::kMXFP4: return {4, ScaleKind::kExponent, 7, true};
    case WeightFormat::kIQ2_XXS: return {3, ScaleKind::kSuper32Float, 7, true};
    case WeightFormat::kIQ2_S: return {3, ScaleKind::kSuper16Float, 7, true};
    case WeightFormat::kIQ3_XXS: return {4, ScaleKind::kSuper32Float, 7, true};
    case WeightFormat::kIQ3_S: return {4, ScaleKind::kSuper32Float, 7, true};
    case WeightFormat::kIQ1_S: return {3, ScaleKind::kSuper32Float, 7, true};
    case WeightFormat::kIQ1_M: return {3, ScaleKind::kSuper16Float, 7, true};
    case WeightFormat::kTQ2_0: return {2, ScaleKind::kSuper, 0, false};
    case WeightFormat::kQ1_0: return {2, ScaleKind::kHalf, 0, false};
    case WeightFormat::kNVFP4: return {4, ScaleKind::kHalf16, 7, true};
    default: return {0, ScaleKind::kHalf, -1, false};
  }
}

// Bytes of the codes of one block (16 rows, 32 columns).
constexpr int64_t code_bytes(int bits) { return int64_t{kPanelRows} * kBlockColumns * bits / 8; }

// Blocks per scale record, and bytes per record.
constexpr int blocks_per_scale_record(ScaleKind k) { return k <= ScaleKind::kHalf16 ? 1 : 8; }
constexpr int64_t scale_record_bytes(ScaleKind k) {
  switch (k) {
    case ScaleKind::kHalf: return 32;
    case ScaleKind::kHalfMin: return 64;
    case ScaleKind::kExponent: return 16;
    case ScaleKind::kHalf16: return 64;
    case ScaleKind::kSuper: return 32;
    case ScaleKind::kSuper32Min: return 64 + 8 * 32;
    case ScaleKind::kSuper32Signed: return 32 + 8 * 16;
    case ScaleKind::kSuper16Signed: return 32 + 16 * 16;
    case ScaleKind::kSuper16Min: return 64 + 16 * 32;
    case ScaleKind::kSuper32Float: return 64 + 8 * 16;
    case ScaleKind::kSuper16Float: return 64 + 16 * 16;
  }
  return 0;
}

// A panel: the codes of all blocks, then the scale records of all blocks, padded to a cache line.
constexpr int64_t panel_code_bytes(FormatTraits t, int64_t blocks) { return blocks * code_bytes(t.bits); }
constexpr int64_t panel_bytes(WeightFormat f, int64_t columns) {
  if (f == WeightFormat::kF32) return columns * kPanelRows * 4;
  if (f == WeightFormat::kF16 || f == WeightFormat::kBF16) return columns * kPanelRows * 2;
  FormatTraits t = format_traits(f);
  int64_t blocks = columns / kBlockColumns;
  int64_t bytes = panel_code_bytes(t, blocks) + blocks / blocks_per_scale_record(t.scale) * scale_record_bytes(t.scale);
  return (bytes + 63) / 64 * 64;
}

// The code books of the lookup formats, plus 128 so that they are unsigned (zero_shift 7). Source: the format's definition.
inline constexpr uint8_t kIq4NlTable[16] = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241};
inline constexpr uint8_t kMxfp4Table[16] = {128, 129, 130, 131, 132, 134, 136, 140, 128, 127, 126, 125, 124, 122, 120, 116};

// The grids of IQ1, IQ2 and IQ3 hold few different values, so a weight becomes the number of its value, sign included. IQ1's
// -1, 0 and 1 are shifted by an eighth up or down: in eighths.
inline constexpr uint8_t kIq2Table[16] = {85, 103, 120, 136, 153, 171};
inline constexpr uint8_t kIq3XxsTable[16] = {66, 76, 84, 92, 100, 108, 116, 124, 132, 140, 148, 156, 164, 172, 180, 190};
inline constexpr uint8_t kIq3STable[16] = {113, 115, 117, 119, 121, 123, 125, 127, 129, 131, 133, 135, 137, 139, 141, 143};
inline constexpr uint8_t kIq1Table[16] = {119, 121, 127, 129, 135, 137};

constexpr const uint8_t* lookup_table(WeightFormat f) {
  switch (f) {
    case WeightFormat::kMXFP4:
    case WeightFormat::kNVFP4: return kMxfp4Table;
    case WeightFormat::kIQ2_XXS:
    case WeightFormat::kIQ2_S: return kIq2Table;
    case WeightFormat::kIQ3_XXS: return kIq3XxsTable;
    case WeightFormat::kIQ3_S: return kIq3STable;
    case WeightFormat::kIQ1_S:
    case WeightFormat::kIQ1_M: return kIq1Table;
    default: return kIq4NlTable;
  }
}

// MXFP4's scale 2^(e-128), half of e8m0's 2^(e-127) because its table is doubled; e = 0 and 1 are denormal.
constexpr float exponent_to_half_scale(uint8_t e) {
  return std::bit_cast<float>(e < 2 ? uint32_t{0x00200000} << e : (static_cast<uint32_t>(e) - 1) << 23);
}

}  // namespace inferens
