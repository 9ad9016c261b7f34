// The values between the operators of a step.
#pragma once

#include <cstdint>

#include "base/aligned_buffer.h"
#include "kernels/activation_tiles.h"
#include "kernels/matmul.h"

namespace inferens {

// A matrix of activations: [rows, columns] f32, rows a multiple of 16 floats apart, and its int8 form once quantized.
struct Activations {
  Scratch<float> memory;
  Scratch<uint8_t> tile_memory;
  float* x = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t stride = 0;
  ActivationTiles tiles;
  Scratch<uint8_t> fine_memory;
  ActivationTiles fine;  // only where a product asks for it
  void resize(int64_t new_rows, int64_t new_columns, int tile_rows, bool with_fine = false);
  float* row(int64_t r) const { return x + r * stride; }
  MatmulInput as_input(bool want_fine = false) const { return {x, stride, tiles, want_fine ? fine : ActivationTiles{}, rows}; }
};

}  // namespace inferens
