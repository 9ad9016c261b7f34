// The K-quants: super-blocks of 256 weights whose sub-block scales are themselves quantized.
#include "formats/dequantize_blocks.h"

namespace inferens {
namespace {

// Two-bit weights: 16 groups of 16. Four shifts of the same 32 bytes come before the next 32 bytes.
void expand_q2_k(const uint8_t* block, float* out) {
  const uint8_t* scales = block;
  const uint8_t* q = block + 16;
  const float d = load_half(block + 80), dmin = load_half(block + 82);
  for (int g = 0; g < 16; ++g) {
    const float scale = d * static_cast<float>(scales[g] & 0x0f);
    const float minimum = dmin * static_cast<float>(scales[g] >> 4);
    const uint8_t* bytes = q + (g / 8) * 32 + (g % 2) * 16;
    const int shift = ((g % 8) / 2) * 2;
    for (int j = 0; j < 16; ++j) out[g * 16 + j] = scale * static_cast<float>((bytes[j] >> shift) & 3) - minimum;
  }
}

// As Q2_K, with a third bit that means "do not subtract 4".
void expand_q3_k(const uint8_t* block, float* out) {
  const uint8_t* high = block;
  const uint8_t* q = block + 32;
  const uint8_t* scales = block + 96;
  const float d = load_half(block + 108);
  for (int g = 0; g < 16; ++g) {
    const int low = g < 8 ? scales[g] & 0x0f : scales[g - 8] >> 4;
    const int top = (scales[8 + g % 4] >> (2 * (g / 4))) & 3;
    const float scale = d * static_cast<float>((low | top << 4) - 32);
    const uint8_t* bytes = q + (g / 8) * 32 + (g % 2) * 16;
    const uint8_t* mask = high + (g % 2) * 16;
    const int shift = ((g % 8) / 2) * 2;
    const int bit = g / 2;
    for (int j = 0; j < 16; ++j) {
      const int value = ((bytes[j] >> shift) & 3) - (((mask[j] >> bit) & 1) ^ 1) * 4;
      out[g * 16 + j] = scale * static_cast<float>(value);
    }
  }
}

struct ScaleMin {
  uint8_t scale;
  uint8_t minimum;
};

// Eight 6-bit scales and eight 6-bit minima in 12 bytes: the first four of each are whole, the last four keep their low
// nibbles in bytes 8 to 11 and their top bits above the first four.
ScaleMin scale_min_of(const uint8_t* packed, int group) {
  if (group < 4) return {static_cast<uint8_t>(packed[group] & 0x3f), static_cast<uint8_t>(packed[group + 4] & 0x3f)};
  const uint8_t nibbles = packed[group + 4];
  return {static_cast<uint8_t>((nibbles & 0x0f) | ((packed[group - 4] >> 2) & 0x30)),
          static_cast<uint8_t>((nibbles >> 4) | ((packed[group] >> 2) & 0x30))};
}

void expand_q4_k(const uint8_t* block, float* out) {
  const float d = load_half(block), dmin = load_half(block + 2);
  const uint8_t* q = block + 16;
  for (int g = 0; g < 8; ++g) {
    const ScaleMin s = scale_min_of(block + 4, g);
    const float scale = d * static_cast<float>(s.scale), minimum = dmin * static_cast<float>(s.minimum);
    const uint8_t* bytes = q + (g / 2) * 32;
    const int shift = (g % 2) * 4;
    for (int j = 0; j < 32; ++j) out[g * 32 + j] = scale * static_cast<float>((bytes[j] >> shift) & 0x0f) - minimum;
  }
}

void expand_q5_k(const uint8_t* block, float* out) {
  const float d = load_half(block), dmin = load_half(block + 2);
  const uint8_t* high = block + 16;
  const uint8_t* q = block + 48;
  for (int g = 0; g < 8; ++g) {
    const ScaleMin s = scale_min_of(block + 4, g);
    const float scale = d * static_cast<float>(s.scale), minimum = dmin * static_cast<float>(s.minimum);
    const uint8_t* bytes = q + (g / 2) * 32;
    const int shift = (g % 2) * 4;
    for (int j = 0; j < 32; ++j) {
      const int value = ((bytes[j] >> shift) & 0x0f) | ((high[j] >> g) & 1) << 4;
      out[g * 32 + j] = scale * static_cast<float>(value) - minimum;
    }
  }
}

void expand_q6_k(const uint8_t* block, float* out) {
  const uint8_t* low = block;
  const uint8_t* high = block + 128;
  const auto* scales = reinterpret_cast<const int8_t*>(block + 192);
  const float d = load_half(block + 208);
  for (int g = 0; g < 16; ++g) {
    const float scale = d * static_cast<float>(scales[g]);
    const int pair = g / 2;  // groups come in pairs of 32 weights that share their shifts
    const uint8_t* low_bytes = low + (pair / 4) * 64 + (pair % 2) * 32 + (g % 2) * 16;
    const uint8_t* high_bytes = high + (pair / 4) * 32 + (g % 2) * 16;
    const int low_shift = ((pair % 4) / 2) * 4, high_shift = (pair % 4) * 2;
    for (int j = 0; j < 16; ++j) {
      const int value = ((low_bytes[j] >> low_shift) & 0x0f) | ((high_bytes[j] >> high_shift) & 3) << 4;
      out[g * 16 + j] = scale * static_cast<float>(value - 32);
    }
  }
}

// A format of activations, here for completeness: float scale, 256 bytes, and block sums that the value does not need.
void expand_q8_k(const uint8_t* block, float* out) {
  const auto d = load_le<float>(block);
  const auto* q = reinterpret_cast<const int8_t*>(block + 4);
  for (int j = 0; j < 256; ++j) out[j] = d * static_cast<float>(q[j]);
}

}  // namespace

BlockExpander k_block_expander(TensorType type) {
  switch (type) {
    case TensorType::kQ2_K:
      return expand_all<expand_q2_k, 256, 84>;
    case TensorType::kQ3_K:
      return expand_all<expand_q3_k, 256, 110>;
    case TensorType::kQ4_K:
      return expand_all<expand_q4_k, 256, 144>;
    case TensorType::kQ5_K:
      return expand_all<expand_q5_k, 256, 176>;
    case TensorType::kQ6_K:
      return expand_all<expand_q6_k, 256, 210>;
    case TensorType::kQ8_K:
      return expand_all<expand_q8_k, 256, 292>;
    default:
      return nullptr;
  }
}

}  // namespace inferens
