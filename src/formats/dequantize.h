// Block formats of GGUF to float, bit-equal to the `gguf` Python package. The plain reference of every fast kernel.
#pragma once

#include <cstddef>
#include <span>

#include "formats/gguf.h"
#include "inferens/status.h"

namespace inferens {

// Expands consecutive blocks. data.size() must be whole blocks and out.size() their weights; otherwise invalid_argument.
// Integer types convert to float. Thread safe.
Status dequantize(TensorType type, std::span<const std::byte> data, std::span<float> out);

float half_to_float(uint16_t half);
uint16_t float_to_half(float value);    // round to nearest even
float bfloat16_to_float(uint16_t b);
uint16_t float_to_bfloat16(float value);  // round to nearest even, NaN stays NaN

}  // namespace inferens
