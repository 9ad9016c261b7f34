// The expanders behind dequantize(), one per block format: `count` consecutive blocks to floats. Inside this folder
// only. Every sum and product is in the order of the `gguf` Python package, so that results are equal bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "formats/gguf.h"
#include "formats/half.h"

namespace inferens {

using BlockExpander = void (*)(const uint8_t* blocks, size_t count, float* out);

template <class T>
T load_le(const uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

inline float load_half(const uint8_t* p) {
  return half_to_float(load_le<uint16_t>(p));
}

// A loop over blocks for a function that expands one.
template <auto expand_block, size_t weights, size_t bytes>
void expand_all(const uint8_t* blocks, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i) expand_block(blocks + i * bytes, out + i * weights);
}

// Each answers nullptr for a type outside its family.
BlockExpander simple_block_expander(TensorType type);    // Q4_0 … Q8_0, Q1_0, MXFP4, NVFP4
BlockExpander k_block_expander(TensorType type);         // Q2_K … Q8_K
BlockExpander codebook_block_expander(TensorType type);  // IQ1 … IQ4
BlockExpander ternary_block_expander(TensorType type);   // TQ1_0, TQ2_0

}  // namespace inferens
