// One block of a row of a GGUF tensor, taken apart: codes, and scales as the packed kinds store them (kernels/pack.cc).
#pragma once

#include <array>
#include <cstdint>

#include "formats/gguf.h"
#include "kernels/weight_format.h"

namespace inferens {

using Bytes = const uint8_t*;

inline uint16_t half_at(Bytes p) { return static_cast<uint16_t>(p[0] | (p[1] << 8)); }

// Up to 256 codes; scales and mins per group.
struct RowBlock {
  std::array<uint8_t, 256> codes;
  uint16_t d = 0, dmin = 0;
  uint8_t exponent = 0;
  std::array<uint8_t, 16> scales{};  // u8 or i8 by kind
  std::array<uint8_t, 16> mins{};
  float wide_d = 0;                  // of the kinds with an f32 scale
  uint16_t half_scales[2] = {};      // of the kind with one per half block
};

// IQ1, IQ2 and IQ3: numbers of grid values, and odd scales. `format` is the packed format of `type`.
void read_grid(TensorType type, WeightFormat format, Bytes p, RowBlock& b);
// TQ1_0 and TQ2_0: -1, 0 and 1 as codes 0, 1 and 2.
void read_ternary(TensorType type, Bytes p, RowBlock& b);
// The first or second half of a block of NVFP4: 32 codes and two scales.
void read_nvfp4(Bytes p, int half, RowBlock& b);

}  // namespace inferens
