// Block formats of GGUF to float, bit-equal to the `gguf` Python package. The plain reference of every fast kernel.
#pragma once

#include <cstddef>
#include <span>

#include "formats/gguf.h"
#include "formats/half.h"  // half_to_float and its kin: callers of dequantize want them
#include "inferens/status.h"

namespace inferens {

// Expands consecutive blocks. data.size() must be whole blocks and out.size() their weights; otherwise
// invalid_argument. Integer types convert to float. Neither span needs more alignment than its element type. Q8_1 is
// unsupported: it is a format of activations whose stored layout was never fixed. Thread safe.
Status dequantize(TensorType type, std::span<const std::byte> data, std::span<float> out);

}  // namespace inferens
