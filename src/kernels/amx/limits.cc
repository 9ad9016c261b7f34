// The limits of AMX machines: those of AVX-512, and int8 tiles.
#include "kernels/limits.h"

#include <immintrin.h>

#include "kernels/amx/tiles.h"

namespace inferens::avx512 {
const LimitLoops& limits();
}

namespace inferens::amx {
namespace {

// Full tiles, 16 x 64 by 64 x 16: four products a round over two A and two B tiles, nothing loaded in between.
constexpr int64_t kTileOperations = 4 * 2 * int64_t{16} * 16 * 64;

float multiply_tiles(int64_t rounds) {
  configure_tiles(64);
  alignas(64) int8_t bytes[16 * 64];
  for (auto& b : bytes) b = 1;
  alignas(64) int32_t sums[16 * 16];
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, bytes, 64);
  _tile_loadd(5, bytes, 64);
  _tile_loadd(6, bytes, 64);
  _tile_loadd(7, bytes, 64);
  for (int64_t r = 0; r < rounds; ++r) {
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 5, 6);
    _tile_dpbusd(2, 4, 7);
    _tile_dpbusd(3, 5, 7);
  }
  _tile_stored(3, sums, 64);
  _tile_release();
  return static_cast<float>(sums[0]);
}

}  // namespace

const LimitLoops& limits() {
  static const LimitLoops loops = [] {
    LimitLoops l = avx512::limits();
    l.int8_tiles = {multiply_tiles, kTileOperations};
    return l;
  }();
  return loops;
}

}  // namespace inferens::amx
