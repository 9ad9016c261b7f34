// Blocks of one scale (and perhaps one minimum): Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q1_0, and the 4-bit float formats MXFP4
// (OCP Microscaling 1.0) and NVFP4.
#include <bit>

#include "formats/dequantize_blocks.h"

namespace inferens {
namespace {

// Nibbles: the low ones are the first half of the block, the high ones the second.
void expand_q4_0(const uint8_t* block, float* out) {
  const float d = load_half(block);
  const uint8_t* q = block + 2;
  for (int j = 0; j < 16; ++j) out[j] = d * static_cast<float>((q[j] & 0x0f) - 8);
  for (int j = 0; j < 16; ++j) out[16 + j] = d * static_cast<float>((q[j] >> 4) - 8);
}

void expand_q4_1(const uint8_t* block, float* out) {
  const float d = load_half(block), m = load_half(block + 2);
  const uint8_t* q = block + 4;
  for (int j = 0; j < 16; ++j) out[j] = d * static_cast<float>(q[j] & 0x0f) + m;
  for (int j = 0; j < 16; ++j) out[16 + j] = d * static_cast<float>(q[j] >> 4) + m;
}

// The fifth bits of all 32 weights stand together in one word.
void expand_q5_0(const uint8_t* block, float* out) {
  const float d = load_half(block);
  const auto high = load_le<uint32_t>(block + 2);
  const uint8_t* q = block + 6;
  for (int j = 0; j < 16; ++j) {
    out[j] = d * static_cast<float>(static_cast<int>((q[j] & 0x0fu) | ((high >> j) & 1u) << 4) - 16);
    out[16 + j] = d * static_cast<float>(static_cast<int>((q[j] >> 4) | ((high >> (16 + j)) & 1u) << 4) - 16);
  }
}

void expand_q5_1(const uint8_t* block, float* out) {
  const float d = load_half(block), m = load_half(block + 2);
  const auto high = load_le<uint32_t>(block + 4);
  const uint8_t* q = block + 8;
  for (int j = 0; j < 16; ++j) {
    out[j] = d * static_cast<float>(static_cast<int>((q[j] & 0x0fu) | ((high >> j) & 1u) << 4)) + m;
    out[16 + j] = d * static_cast<float>(static_cast<int>((q[j] >> 4) | ((high >> (16 + j)) & 1u) << 4)) + m;
  }
}

void expand_q8_0(const uint8_t* block, float* out) {
  const float d = load_half(block);
  const auto* q = reinterpret_cast<const int8_t*>(block + 2);
  for (int j = 0; j < 32; ++j) out[j] = d * static_cast<float>(q[j]);
}

// Sign bits only: a set bit is +d, a clear one −d.
void expand_q1_0(const uint8_t* block, float* out) {
  const float d = load_half(block);
  const uint8_t* q = block + 2;
  for (int j = 0; j < 128; ++j) out[j] = ((q[j / 8] >> (j % 8)) & 1) != 0 ? d : -d;
}

// The values of a 4-bit float (E2M1), doubled so that they are whole.
constexpr float kE2M1Doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Half of 2^(e − 127): the half takes back the doubling above. 2^-127 and 2^-128 are subnormal and need their own bits.
float half_of_e8m0(uint8_t e) {
  return std::bit_cast<float>(e < 2 ? 0x00200000u << e : static_cast<uint32_t>(e - 1) << 23);
}

void expand_mxfp4(const uint8_t* block, float* out) {
  const float d = half_of_e8m0(block[0]);
  const uint8_t* q = block + 1;
  for (int j = 0; j < 16; ++j) out[j] = d * kE2M1Doubled[q[j] & 0x0f];
  for (int j = 0; j < 16; ++j) out[16 + j] = d * kE2M1Doubled[q[j] >> 4];
}

// Half of an unsigned 8-bit float with 4 exponent bits (bias 7) and 3 of mantissa; 0x7f is its NaN and counts as 0. The
// top bit is no sign and is not looked at except in that comparison, as in the reference.
float half_of_ue4m3(uint8_t x) {
  if (x == 0 || x == 0x7f) return 0;
  const int exponent = (x >> 3) & 0x0f;
  const auto mantissa = static_cast<float>(x & 7);
  if (exponent == 0) return mantissa * 0x1p-10f;
  const float power = std::bit_cast<float>(static_cast<uint32_t>(exponent - 7 + 127) << 23);
  return (1.0f + mantissa / 8.0f) * power * 0.5f;
}

// Four sub-blocks of 16 weights, each with its own scale.
void expand_nvfp4(const uint8_t* block, float* out) {
  for (int s = 0; s < 4; ++s) {
    const float d = half_of_ue4m3(block[s]);
    const uint8_t* q = block + 4 + s * 8;
    for (int j = 0; j < 8; ++j) out[s * 16 + j] = d * kE2M1Doubled[q[j] & 0x0f];
    for (int j = 0; j < 8; ++j) out[s * 16 + 8 + j] = d * kE2M1Doubled[q[j] >> 4];
  }
}

}  // namespace

BlockExpander simple_block_expander(TensorType type) {
  switch (type) {
    case TensorType::kQ4_0:
      return expand_all<expand_q4_0, 32, 18>;
    case TensorType::kQ4_1:
      return expand_all<expand_q4_1, 32, 20>;
    case TensorType::kQ5_0:
      return expand_all<expand_q5_0, 32, 22>;
    case TensorType::kQ5_1:
      return expand_all<expand_q5_1, 32, 24>;
    case TensorType::kQ8_0:
      return expand_all<expand_q8_0, 32, 34>;
    case TensorType::kQ1_0:
      return expand_all<expand_q1_0, 128, 18>;
    case TensorType::kMXFP4:
      return expand_all<expand_mxfp4, 32, 17>;
    case TensorType::kNVFP4:
      return expand_all<expand_nvfp4, 64, 36>;
    default:
      return nullptr;
  }
}

}  // namespace inferens
