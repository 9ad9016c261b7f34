// Activations as the integer kernels read them: rows cut into tiles of at most tile_rows (a property of the instruction
// set), each tile a run of records, one per block of 32 columns. A record of a tile of H rows is
//   int8 q[H][32]; f32 scale[H]; f32 neg_sum[H]; int32 neg_count[3][H]
// with x ≈ scale * q, neg_sum = -scale * sum(q), neg_count = -sum(q) over the block, its first and its second half.
// The last tile is only as high as it has rows, so that one decode row is compact.
#pragma once

#include <cstdint>

#include "base/aligned_buffer.h"
#include "kernels/weight_format.h"

namespace inferens {

struct TileRecord {
  static constexpr int64_t bytes(int64_t h) { return h * (kBlockColumns + 4 + 4 + 12); }
  static constexpr int64_t scale(int64_t h) { return h * kBlockColumns; }
  static constexpr int64_t neg_sum(int64_t h) { return scale(h) + 4 * h; }
  static constexpr int64_t neg_count(int64_t h, int part) { return scale(h) + 8 * h + 4 * h * part; }
};

// Where tiles of a matrix of `rows` by `columns` lie. Plain arithmetic; the memory belongs to the caller.
struct ActivationTiles {
  uint8_t* data = nullptr;  // bytes(rows, columns, tile_rows), 64-byte aligned
  int64_t rows = 0;
  int64_t columns = 0;
  int tile_rows = 1;
  int64_t blocks() const { return columns / kBlockColumns; }
  int64_t tiles() const { return (rows + tile_rows - 1) / tile_rows; }
  int tile_height(int64_t tile) const {
    int64_t left = rows - tile * tile_rows;
    return static_cast<int>(left < tile_rows ? left : tile_rows);
  }
  // All tiles before the last are full.
  uint8_t* tile(int64_t t) const { return data + t * blocks() * TileRecord::bytes(tile_rows); }
  static size_t bytes(int64_t rows, int64_t columns) {
    // An AMX tile always reads 16 rows; what it reads past the last record is not used, and must be there.
    return static_cast<size_t>(rows * (columns / kBlockColumns) * TileRecord::bytes(1)) + 16 * kBlockColumns + 4 * 64;
  }
};

}  // namespace inferens
