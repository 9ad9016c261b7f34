// The rarer block formats. Their codebooks are applied by dequantize() with the block's scale set to one, which leaves grid
// values times small exact scales; so there is one copy of the codebooks.
#include <array>
#include <cstring>
#include <span>

#include "formats/dequantize.h"
#include "formats/half.h"
#include "kernels/row_block.h"

namespace inferens {
namespace {

// What the block's own formula multiplies a grid value by, apart from the block's scale d: an odd number of eighths, say.
struct GridScales {
  int groups;     // 8 or 16 of a block's 256 weights
  float unit;     // scale of a group = d * unit * its odd number
  size_t d_at;    // where d lies, as f16; IQ1_M has it in the top nibbles of four words from there
};

GridScales grid_scales(TensorType type) {
  switch (type) {
    case TensorType::kIQ2_XXS: return {8, 0.125f, 0};
    case TensorType::kIQ2_XS:
    case TensorType::kIQ2_S: return {16, 0.125f, 0};
    case TensorType::kIQ3_XXS: return {8, 0.25f, 0};
    case TensorType::kIQ3_S: return {8, 1.0f, 0};
    case TensorType::kIQ1_S: return {8, 0.125f, 0};
    default: return {16, 0.125f, 48};  // IQ1_M
  }
}

int nibble_of(Bytes p, int index) { return (p[index / 2] >> (4 * (index % 2))) & 15; }

// The odd number 2s + 1 of group `g`.
int grid_scale(TensorType type, Bytes p, int g) {
  switch (type) {
    case TensorType::kIQ2_XXS: return 2 * (p[2 + g * 8 + 7] >> 4) + 1;
    case TensorType::kIQ2_XS: return 2 * nibble_of(p + 66, g) + 1;
    case TensorType::kIQ2_S: return 2 * nibble_of(p + 74, g) + 1;
    case TensorType::kIQ3_XXS: return 2 * (p[66 + g * 4 + 3] >> 4) + 1;
    case TensorType::kIQ3_S: return 2 * nibble_of(p + 106, g) + 1;
    case TensorType::kIQ1_S: return 2 * ((p[34 + g * 2 + 1] >> 4) & 7) + 1;
    default: return 2 * ((half_at(p + 48 + g / 4 * 2) >> (3 * (g % 4))) & 7) + 1;
  }
}

constexpr uint16_t kHalfOne = 0x3c00;

// The f16 scale of a grid block, and one in its place.
uint16_t swap_grid_d(TensorType type, size_t at, uint8_t* block) {
  if (type != TensorType::kIQ1_M) {
    uint16_t d = half_at(block + at);
    std::memcpy(block + at, &kHalfOne, 2);
    return d;
  }
  int d = 0;
  for (int i = 0; i < 4; ++i) {
    uint8_t& high = block[at + 2 * static_cast<size_t>(i) + 1];
    d |= (high >> 4) << (4 * i);
    high = static_cast<uint8_t>((high & 15) | (((kHalfOne >> (4 * i)) & 15) << 4));
  }
  return static_cast<uint16_t>(d);
}

// NVFP4's scale as f16, halved because its table is doubled: an unsigned float of 4 exponent and 3 mantissa bits, exact in
// f16. 0x7f is its NaN and counts as 0; the top bit is no sign and is not looked at otherwise.
uint16_t half_of_ue4m3(uint8_t x) {
  if (x == 0x7f) return 0;
  int exponent = (x >> 3) & 15, mantissa = x & 7;
  if (exponent == 0) return float_to_half(static_cast<float>(mantissa) * 0x1p-10f);
  return static_cast<uint16_t>((exponent - 7 - 1 + 15) << 10 | mantissa << 7);
}

}  // namespace

void read_grid(TensorType type, WeightFormat format, Bytes p, RowBlock& b) {
  const BlockShape shape = block_shape(type);
  const GridScales scales = grid_scales(type);
  std::array<std::byte, 128> block;
  std::memcpy(block.data(), p, shape.bytes);
  b.wide_d = half_to_float(swap_grid_d(type, scales.d_at, reinterpret_cast<uint8_t*>(block.data()))) * scales.unit;
  std::array<float, 256> values;
  (void)dequantize(type, std::span(block).first(shape.bytes), values);  // the sizes are the type's own
  std::array<uint8_t, 256> code_of{};
  const uint8_t* table = lookup_table(format);
  for (int code = 0; code < 1 << format_traits(format).bits; ++code) {
    if (table[code] != 0) code_of[table[code]] = static_cast<uint8_t>(code);
  }
  int width = 256 / scales.groups;
  for (int g = 0; g < scales.groups; ++g) {
    int scale = grid_scale(type, p, g);
    b.scales[static_cast<size_t>(g)] = static_cast<uint8_t>(scale);
    for (int i = g * width; i < (g + 1) * width; ++i) {
      int value = static_cast<int>(values[static_cast<size_t>(i)] / (scales.unit * static_cast<float>(scale)));  // exact
      b.codes[static_cast<size_t>(i)] = code_of[static_cast<uint8_t>(value + 128)];
    }
  }
}

void read_ternary(TensorType type, Bytes p, RowBlock& b) {
  const BlockShape shape = block_shape(type);
  std::array<std::byte, 128> block;
  std::memcpy(block.data(), p, shape.bytes);
  std::memcpy(block.data() + shape.bytes - 2, &kHalfOne, 2);
  std::array<float, 256> values;
  (void)dequantize(type, std::span(block).first(shape.bytes), values);
  for (size_t i = 0; i < 256; ++i) b.codes[i] = static_cast<uint8_t>(static_cast<int>(values[i]) + 1);
  b.d = half_at(p + shape.bytes - 2);
}

void read_nvfp4(Bytes p, int half, RowBlock& b) {
  for (int s = 0; s < 2; ++s) {
    int sub = half * 2 + s;
    b.half_scales[s] = half_of_ue4m3(p[sub]);
    Bytes q = p + 4 + sub * 8;
    for (int j = 0; j < 8; ++j) {
      b.codes[static_cast<size_t>(s * 16 + j)] = q[j] & 15;
      b.codes[static_cast<size_t>(s * 16 + 8 + j)] = q[j] >> 4;
    }
  }
}

}  // namespace inferens
