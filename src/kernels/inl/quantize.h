// Activations to int8: per row and block of 32 columns, x ≈ scale * q with scale = max|x| / 127.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/activation_tiles.h"

namespace inferens::inl {

// 32 values into one record; gives back what rounding lost.
template <class V>
inline void quantize_block(typename V::F& x0, typename V::F& x1, uint8_t* record, int height, int row) {
  float largest = V::reduce_max(V::max(V::abs(x0), V::abs(x1)));
  auto inverse = V::set(largest > 0 ? 127.0f / largest : 0.0f);
  auto q0 = V::round_to_int(V::mul(x0, inverse));
  auto q1 = V::round_to_int(V::mul(x1, inverse));
  auto* q = reinterpret_cast<int8_t*>(record) + row * kBlockColumns;
  V::store_i8(q, q0);
  V::store_i8(q + 16, q1);
  float scale = largest / 127.0f;
  int32_t first = V::reduce_iadd(q0);
  int32_t second = V::reduce_iadd(q1);
  float neg_sum = -(scale * static_cast<float>(first + second));
  int32_t counts[3] = {-(first + second), -first, -second};
  std::memcpy(record + TileRecord::scale(height) + 4 * row, &scale, 4);
  std::memcpy(record + TileRecord::neg_sum(height) + 4 * row, &neg_sum, 4);
  for (int part = 0; part < 3; ++part) std::memcpy(record + TileRecord::neg_count(height, part) + 4 * row, &counts[part], 4);
  auto neg_scale = V::set(-scale);
  x0 = V::fma(V::to_float(q0), neg_scale, x0);
  x1 = V::fma(V::to_float(q1), neg_scale, x1);
}

// Row `row` (inside a tile of `height` rows) of the tile at `tile` from x [columns]. `fine`, unless null, is a second tile
// that gets what the first one lost, quantized the same way: together they hold about 15 bits.
template <class V>
void quantize_row(const float* x, int64_t columns, uint8_t* tile, uint8_t* fine, int height, int row) {
  for (int64_t b = 0; b < columns / kBlockColumns; ++b, x += kBlockColumns) {
    auto x0 = V::load(x);
    auto x1 = V::load(x + 16);
    quantize_block<V>(x0, x1, tile + b * TileRecord::bytes(height), height, row);
    if (fine != nullptr) quantize_block<V>(x0, x1, fine + b * TileRecord::bytes(height), height, row);
  }
}

}  // namespace inferens::inl
