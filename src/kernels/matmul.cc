#include "kernels/matmul.h"

#include <algorithm>

#include "kernels/inl/matmul.h"

namespace inferens {
namespace {

const uint8_t* panel_bytes_of(const PackedMatrix& w, int64_t panel) { return reinterpret_cast<const uint8_t*>(w.panel(panel)); }

void float_panel(const KernelTable& kernels, const PackedMatrix& w, const MatmulInput& in, int64_t panel, float* out, int64_t out_stride) {
  int format = static_cast<int>(w.format) - kIntegerFormats;
  for (int64_t row = 0; row < in.rows; row += kernels.tile_rows) {
    auto height = std::min<int64_t>(kernels.tile_rows, in.rows - row);
    kernels.dot_float[format][height - 1](panel_bytes_of(w, panel), w.columns, in.x + row * in.x_stride, in.x_stride, out + row * out_stride,
                                          out_stride);
  }
}

// Strips of the panel are unpacked into cache once and meet every tile of rows.
void unpacked_panel(const KernelTable& kernels, const PackedMatrix& w, const ActivationTiles& tiles, int64_t panel, float* out,
                    int64_t out_stride, MatmulScratch& scratch) {
  int format = static_cast<int>(w.format);
  FormatTraits traits = format_traits(w.format);
  constexpr size_t kCodeBytes = inl::kStripBlocks * 512;
  constexpr size_t kScaleBytes = inl::kStripBlocks * 2 * 16 * sizeof(float);
  uint8_t* base = scratch.bytes.ensure(kCodeBytes + 2 * kScaleBytes);
  inl::Strip strip{base, reinterpret_cast<float*>(base + kCodeBytes), reinterpret_cast<float*>(base + kCodeBytes + kScaleBytes), 0};
  int64_t blocks = w.columns / kBlockColumns;
  for (int64_t first = 0; first < blocks; first += inl::kStripBlocks) {
    strip.blocks = static_cast<int>(std::min<int64_t>(inl::kStripBlocks, blocks - first));
    kernels.unpack_strip[format](panel_bytes_of(w, panel), blocks, first, strip);
    for (int64_t t = 0; t < tiles.tiles(); ++t) {
      int height = tiles.tile_height(t);
      kernels.dot_strip[format][height - 1](strip, tiles.tile(t) + first * TileRecord::bytes(height), traits.zero_shift, first == 0,
                                            out + t * tiles.tile_rows * out_stride, out_stride);
    }
  }
}

// From this many rows on, AMX tiles beat vectors: below, loading and storing tiles costs more than the products.
constexpr int64_t kAmxFromRows = 8;

void integer_panel(const KernelTable& kernels, const PackedMatrix& w, const ActivationTiles& tiles, int64_t panel, float* out,
                   int64_t out_stride, MatmulScratch& scratch) {
  int format = static_cast<int>(w.format);
  int64_t blocks = w.columns / kBlockColumns;
  auto dot_packed = tiles.rows <= kMaxPackedRows ? kernels.dot_packed[format][tiles.rows - 1] : nullptr;
  if (dot_packed != nullptr) {
    dot_packed(panel_bytes_of(w, panel), blocks, tiles.tile(0), out, out_stride);
  } else if (kernels.dot_panel_tiles[format] != nullptr && tiles.rows >= kAmxFromRows) {
    kernels.dot_panel_tiles[format](panel_bytes_of(w, panel), blocks, tiles, out, out_stride,
                                    scratch.bytes.ensure(kernels.panel_tiles_scratch_bytes));
  } else {
    unpacked_panel(kernels, w, tiles, panel, out, out_stride, scratch);
  }
}

}  // namespace

void matmul_panels(const KernelTable& kernels, const PackedMatrix& w, const MatmulInput& in, int64_t first_panel, int64_t last_panel,
                   float* out, int64_t out_stride, MatmulScratch& scratch) {
  if (in.rows == 0) return;
  for (int64_t p = first_panel; p < last_panel; ++p) {
    int64_t width = std::min<int64_t>(kPanelRows, w.rows - p * kPanelRows);
    bool whole = width == kPanelRows;
    float* to = whole ? out + p * kPanelRows : scratch.part.ensure(static_cast<size_t>(in.rows * kPanelRows));
    int64_t stride = whole ? out_stride : kPanelRows;
    if (is_integer_format(w.format)) {
      integer_panel(kernels, w, in.tiles, p, to, stride, scratch);
    } else {
      float_panel(kernels, w, in, p, to, stride);
    }
    if (whole) continue;
    for (int64_t r = 0; r < in.rows; ++r) std::copy_n(to + r * kPanelRows, width, out + r * out_stride + p * kPanelRows);
  }
}

void matmul(const KernelTable& kernels, const Team& team, const PackedMatrix& w, const MatmulInput& in, float* out, int64_t out_stride,
            MatmulScratch& scratch) {
  auto [first, last] = team.share(w.panels());
  matmul_panels(kernels, w, in, first, last, out, out_stride, scratch);
}

void quantize_rows(const KernelTable& kernels, const float* x, int64_t x_stride, int64_t first, int64_t last, const ActivationTiles& tiles) {
  for (int64_t row = first; row < last; ++row) {
    int64_t t = row / tiles.tile_rows;
    kernels.quantize_row(x + row * x_stride, tiles.columns, tiles.tile(t), tiles.tile_height(t), static_cast<int>(row % tiles.tile_rows));
  }
}

}  // namespace inferens
