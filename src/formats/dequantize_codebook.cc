// The IQ formats: groups of weights are entries of fixed codebooks (IQ1, IQ2, IQ3) or nibbles into a table of 16 values
// (IQ4), times a scale per sub-block.
#include <array>
#include <bit>

#include "formats/dequantize_blocks.h"

namespace inferens {
namespace {

#include "formats/iq_grids.inc"

template <size_t entries, size_t width>
using Grid = std::array<std::array<int8_t, width>, entries>;

// Expands a packed codebook: `width` indexes into `values` per entry, each in the fewest bits.
template <size_t width, size_t entries, size_t count>
constexpr Grid<entries, width> unpack_grid(const uint16_t (&packed)[entries], const int8_t (&values)[count]) {
  constexpr int kBits = std::bit_width(count - 1);
  Grid<entries, width> grid{};
  for (size_t e = 0; e < entries; ++e) {
    for (size_t i = 0; i < width; ++i) grid[e][i] = values[(packed[e] >> (kBits * i)) & ((1 << kBits) - 1)];
  }
  return grid;
}

constexpr int8_t kValuesIq1[] = {-1, 0, 1};
constexpr int8_t kValuesIq2[] = {8, 25, 43};
constexpr int8_t kValuesIq3Xxs[] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr int8_t kValuesIq3S[] = {1, 3, 5, 7, 9, 11, 13, 15};
constexpr auto kIq1 = unpack_grid<8>(kGridIq1, kValuesIq1);
constexpr auto kIq2Xxs = unpack_grid<8>(kGridIq2Xxs, kValuesIq2);
constexpr auto kIq2Xs = unpack_grid<8>(kGridIq2Xs, kValuesIq2);
constexpr auto kIq2S = unpack_grid<8>(kGridIq2S, kValuesIq2);
constexpr auto kIq3Xxs = unpack_grid<4>(kGridIq3Xxs, kValuesIq3Xxs);
constexpr auto kIq3S = unpack_grid<4>(kGridIq3S, kValuesIq3S);

constexpr float kValuesIq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// Seven stored sign bits stand for eight weights: the number of minus signs is always even.
uint8_t even_signs(uint32_t seven_bits) {
  return static_cast<uint8_t>(seven_bits | static_cast<uint32_t>(std::popcount(seven_bits) & 1) << 7);
}

float signed_by(float value, uint8_t signs, int bit) {
  return ((signs >> bit) & 1) != 0 ? -value : value;
}

void write_signed(float scale, const std::array<int8_t, 8>& entry, uint8_t signs, float* out) {
  for (int j = 0; j < 8; ++j) out[j] = signed_by(scale * static_cast<float>(entry[j]), signs, j);
}

void write_signed(float scale, const std::array<int8_t, 4>& low, const std::array<int8_t, 4>& high, uint8_t signs,
                  float* out) {
  for (int j = 0; j < 4; ++j) out[j] = signed_by(scale * static_cast<float>(low[j]), signs, j);
  for (int j = 0; j < 4; ++j) out[4 + j] = signed_by(scale * static_cast<float>(high[j]), signs, 4 + j);
}

// Nibble `index` of an array, low nibbles first.
int nibble(const uint8_t* bytes, int index) {
  return (bytes[index / 2] >> (4 * (index % 2))) & 0x0f;
}

void expand_iq2_xxs(const uint8_t* block, float* out) {
  const float d = load_half(block);
  for (int g = 0; g < 8; ++g) {  // 32 weights: four codebook indexes, then signs and scale in one word
    const uint8_t* indexes = block + 2 + g * 8;
    const auto packed = load_le<uint32_t>(indexes + 4);
    const float scale = d * (0.5f + static_cast<float>(packed >> 28)) * 0.25f;
    for (int k = 0; k < 4; ++k) {
      write_signed(scale, kIq2Xxs[indexes[k]], even_signs((packed >> (7 * k)) & 0x7f), out + g * 32 + k * 8);
    }
  }
}

void expand_iq2_xs(const uint8_t* block, float* out) {
  const float d = load_half(block);
  const uint8_t* scales = block + 66;
  for (int k = 0; k < 32; ++k) {  // 8 weights: 9 bits of index, 7 of signs
    const auto packed = load_le<uint16_t>(block + 2 + k * 2);
    const float scale = d * (0.5f + static_cast<float>(nibble(scales, k / 2))) * 0.25f;
    write_signed(scale, kIq2Xs[packed & 511], even_signs(packed >> 9), out + k * 8);
  }
}

void expand_iq2_s(const uint8_t* block, float* out) {
  const float d = load_half(block);
  const uint8_t* low = block + 2;
  const uint8_t* signs = block + 34;
  const uint8_t* high = block + 66;
  const uint8_t* scales = block + 74;
  for (int k = 0; k < 32; ++k) {
    const int index = low[k] | ((high[k / 4] >> (2 * (k % 4))) & 3) << 8;
    const float scale = d * (0.5f + static_cast<float>(nibble(scales, k / 2))) * 0.25f;
    write_signed(scale, kIq2S[index], signs[k], out + k * 8);
  }
}

void expand_iq3_xxs(const uint8_t* block, float* out) {
  const float d = load_half(block);
  for (int g = 0; g < 8; ++g) {  // 32 weights: eight indexes of four weights each
    const uint8_t* indexes = block + 2 + g * 8;
    const auto packed = load_le<uint32_t>(block + 66 + g * 4);
    const float scale = d * (0.5f + static_cast<float>(packed >> 28)) * 0.5f;
    for (int k = 0; k < 4; ++k) {
      write_signed(scale, kIq3Xxs[indexes[2 * k]], kIq3Xxs[indexes[2 * k + 1]], even_signs((packed >> (7 * k)) & 0x7f),
                   out + g * 32 + k * 8);
    }
  }
}

void expand_iq3_s(const uint8_t* block, float* out) {
  const float d = load_half(block);
  const uint8_t* low = block + 2;
  const uint8_t* high = block + 66;
  const uint8_t* signs = block + 74;
  const uint8_t* scales = block + 106;
  const auto index = [&](int i) { return low[i] | ((high[i / 8] >> (i % 8)) & 1) << 8; };
  for (int k = 0; k < 32; ++k) {
    const float scale = d * static_cast<float>(1 + 2 * nibble(scales, k / 4));
    write_signed(scale, kIq3S[index(2 * k)], kIq3S[index(2 * k + 1)], signs[k], out + k * 8);
  }
}

// IQ1: the entry's −1, 0, 1 are shifted by an eighth, up or down, per group.
void write_shifted(float scale, const std::array<int8_t, 8>& entry, bool down, float* out) {
  const float shift = down ? -0.125f : 0.125f;
  for (int j = 0; j < 8; ++j) out[j] = scale * (static_cast<float>(entry[j]) + shift);
}

void expand_iq1_s(const uint8_t* block, float* out) {
  const float d = load_half(block);
  const uint8_t* low = block + 2;
  for (int g = 0; g < 8; ++g) {
    const auto high = load_le<uint16_t>(block + 34 + g * 2);
    const float scale = d * static_cast<float>(2 * ((high >> 12) & 7) + 1);
    for (int k = 0; k < 4; ++k) {
      const int index = low[g * 4 + k] | ((high >> (3 * k)) & 7) << 8;
      write_shifted(scale, kIq1[index], (high & 0x8000) != 0, out + g * 32 + k * 8);
    }
  }
}

void expand_iq1_m(const uint8_t* block, float* out) {
  const uint8_t* low = block;
  const uint8_t* high = block + 32;
  uint16_t scales[4];
  uint16_t d_bits = 0;  // the block's scale: the top nibbles of the four scale words
  for (int i = 0; i < 4; ++i) {
    scales[i] = load_le<uint16_t>(block + 48 + i * 2);
    d_bits = static_cast<uint16_t>(d_bits | (scales[i] >> 12) << (4 * i));
  }
  const float d = half_to_float(d_bits);
  for (int k = 0; k < 32; ++k) {
    const int scale_bits = (scales[k / 8] >> (3 * ((k / 2) % 4))) & 7;
    const int top = high[k / 2] >> (4 * (k % 2));
    write_shifted(d * static_cast<float>(2 * scale_bits + 1), kIq1[low[k] | (top & 7) << 8], (top & 8) != 0,
                  out + k * 8);
  }
}

void write_iq4(float scale, const uint8_t* q, float* out) {
  for (int j = 0; j < 16; ++j) out[j] = scale * kValuesIq4[q[j] & 0x0f];
  for (int j = 0; j < 16; ++j) out[16 + j] = scale * kValuesIq4[q[j] >> 4];
}

void expand_iq4_nl(const uint8_t* block, float* out) {
  write_iq4(load_half(block), block + 2, out);
}

void expand_iq4_xs(const uint8_t* block, float* out) {
  const float d = load_half(block);
  const auto scales_high = load_le<uint16_t>(block + 2);
  for (int g = 0; g < 8; ++g) {
    const int scale = nibble(block + 4, g) | ((scales_high >> (2 * g)) & 3) << 4;
    write_iq4(d * static_cast<float>(scale - 32), block + 8 + g * 16, out + g * 32);
  }
}

}  // namespace

BlockExpander codebook_block_expander(TensorType type) {
  switch (type) {
    case TensorType::kIQ1_S:
      return expand_all<expand_iq1_s, 256, 50>;
    case TensorType::kIQ1_M:
      return expand_all<expand_iq1_m, 256, 56>;
    case TensorType::kIQ2_XXS:
      return expand_all<expand_iq2_xxs, 256, 66>;
    case TensorType::kIQ2_XS:
      return expand_all<expand_iq2_xs, 256, 74>;
    case TensorType::kIQ2_S:
      return expand_all<expand_iq2_s, 256, 82>;
    case TensorType::kIQ3_XXS:
      return expand_all<expand_iq3_xxs, 256, 98>;
    case TensorType::kIQ3_S:
      return expand_all<expand_iq3_s, 256, 110>;
    case TensorType::kIQ4_NL:
      return expand_all<expand_iq4_nl, 32, 18>;
    case TensorType::kIQ4_XS:
      return expand_all<expand_iq4_xs, 256, 136>;
    default:
      return nullptr;
  }
}

}  // namespace inferens
