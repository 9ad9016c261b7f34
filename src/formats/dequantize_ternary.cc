// Weights of −1, 0 and 1 times a scale: TQ1_0 packs five to a byte in base 3, TQ2_0 four to a byte.
#include "formats/dequantize_blocks.h"

namespace inferens {
namespace {

// A byte is ceil(256 * n / 243) of a number n of five ternary digits, so the wrapping product with 3^k leaves the
// digits below the k-th as a fraction of 256, and times 3 / 256 is the leading one of them.
float ternary_digit(uint8_t packed, uint8_t power_of_three) {
  const auto fraction = static_cast<uint8_t>(packed * power_of_three);
  return static_cast<float>(((fraction * 3) >> 8) - 1);
}

constexpr uint8_t kPowersOfThree[5] = {1, 3, 9, 27, 81};

// `width` bytes hold digits * width weights: first the leading digits of all bytes, then the next.
void expand_digits(const uint8_t* packed, int width, int digits, float d, float* out) {
  for (int k = 0; k < digits; ++k) {
    for (int j = 0; j < width; ++j) out[k * width + j] = d * ternary_digit(packed[j], kPowersOfThree[k]);
  }
}

void expand_tq1_0(const uint8_t* block, float* out) {
  const float d = load_half(block + 52);
  expand_digits(block, 32, 5, d, out);
  expand_digits(block + 32, 16, 5, d, out + 160);
  expand_digits(block + 48, 4, 4, d, out + 240);
}

void expand_tq2_0(const uint8_t* block, float* out) {
  const float d = load_half(block + 64);
  for (int g = 0; g < 8; ++g) {
    const uint8_t* bytes = block + (g / 4) * 32;
    const int shift = (g % 4) * 2;
    for (int j = 0; j < 32; ++j) out[g * 32 + j] = d * static_cast<float>(((bytes[j] >> shift) & 3) - 1);
  }
}

}  // namespace

BlockExpander ternary_block_expander(TensorType type) {
  switch (type) {
    case TensorType::kTQ1_0:
      return expand_all<expand_tq1_0, 256, 54>;
    case TensorType::kTQ2_0:
      return expand_all<expand_tq2_0, 256, 66>;
    default:
      return nullptr;
  }
}

}  // namespace inferens
