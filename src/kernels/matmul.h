// The matrix product operator: y[rows, n] = x[rows, k] · wᵀ for a packed matrix. Work is shared out by panels of 16
// outputs; every worker of the team calls, and the caller puts a barrier after it.
#pragma once

#include <cstdint>

#include "base/aligned_buffer.h"
#include "base/team.h"
#include "kernels/kernel_table.h"
#include "kernels/packed_matrix.h"

namespace inferens {

// The input of a product, in both forms a matrix may want. Either may be absent when no consumer needs it.
struct MatmulInput {
  const float* x = nullptr;  // [rows, columns] f32, row stride x_stride
  int64_t x_stride = 0;
  ActivationTiles tiles;  // the same rows as int8
  ActivationTiles fine;   // what rounding to tiles lost; its product is added when present (about 15 bits in all)
  int64_t rows = 0;
};

// One worker's scratch; grows to what the largest product needs.
struct MatmulScratch {
  Scratch<uint8_t> bytes;
  Scratch<float> part;  // outputs of a last panel that is not full
  Scratch<float> fine;  // products of the fine tiles
};

// out [rows, n] f32 with row stride out_stride ≥ n.
// Panels [first_panel, last_panel) of w; the bits of an output do not depend on how panels are shared out.
void matmul_panels(const KernelTable& kernels, const PackedMatrix& w, const MatmulInput& in, int64_t first_panel, int64_t last_panel, float* out,
                   int64_t out_stride, MatmulScratch& scratch);

// This worker's share of the panels.
void matmul(const KernelTable& kernels, const Team& team, const PackedMatrix& w, const MatmulInput& in, float* out, int64_t out_stride,
            MatmulScratch& scratch);

// Quantizes rows [first, last) of x [tiles.rows, tiles.columns] into tiles, and what that loses into fine if it has memory.
void quantize_rows(const KernelTable& kernels, const float* x, int64_t x_stride, int64_t first, int64_t last, const ActivationTiles& tiles,
                   const ActivationTiles& fine);

}  // namespace inferens
