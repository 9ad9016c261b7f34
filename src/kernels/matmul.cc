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

// Strips of the panels are unpacked into cache once and meet every tile of rows.
void unpacked_panels(const KernelTable& kernels, WeightFormat weight_format, const PanelRun& run, const ActivationTiles& tiles, float* out,
                     int64_t out_stride, uint8_t* scratch) {
  int format = static_cast<int>(weight_format);
  int zero_shift = format_traits(weight_format).zero_shift;
  inl::Strip strips[kMaxPanelRun];
  for (int64_t first = 0; first < run.blocks; first += inl::kStripBlocks) {
    for (int p = 0; p < run.count; ++p) {
      strips[p] = inl::strip_in(scratch, p, run.blocks - first);
      kernels.unpack_strip[format](run.panel(p), run.blocks, first, strips[p]);
    }
    for (int64_t t = 0; t < tiles.tiles(); ++t) {
      int height = tiles.tile_height(t);
      const uint8_t* records = tiles.tile(t) + first * TileRecord::bytes(height);
      for (int p = 0; p < run.count; ++p) {
        kernels.dot_strip[format][height - 1](strips[p], records, zero_shift, first == 0,
                                              out + t * tiles.tile_rows * out_stride + p * kPanelRows, out_stride);
      }
    }
  }
}

// From this many rows on, AMX tiles beat vectors: below, loading and storing tiles costs more than the products.
constexpr int64_t kAmxFromRows = 12;

// From this many rows on, reading the activations once for several panels pays; below, one unpacked panel stays in the
// first-level cache.
constexpr int64_t kPanelRunFromRows = 48;

void integer_panels(const KernelTable& kernels, const PackedMatrix& w, const ActivationTiles& tiles, int64_t panel, int count, float* out,
                    int64_t out_stride, MatmulScratch& scratch) {
  int format = static_cast<int>(w.format);
  PanelRun run{panel_bytes_of(w, panel), w.bytes_per_panel(), w.columns / kBlockColumns, count};
  auto dot_packed = tiles.rows <= kMaxPackedRows ? kernels.dot_packed[format][tiles.rows - 1] : nullptr;
  if (dot_packed != nullptr) {
    for (int p = 0; p < count; ++p) dot_packed(run.panel(p), run.blocks, tiles.tile(0), out + p * kPanelRows, out_stride);
    return;
  }
  uint8_t* strips = scratch.bytes.ensure(kMaxPanelRun * inl::kStripBytes);
  if (kernels.dot_panel_tiles[format] != nullptr && tiles.rows >= kAmxFromRows) {
    kernels.dot_panel_tiles[format](run, tiles, out, out_stride, strips);
  } else {
    unpacked_panels(kernels, w.format, run, tiles, out, out_stride, strips);
  }
}

// `count` whole panels from `panel` on.
void panels_into(const KernelTable& kernels, const PackedMatrix& w, const MatmulInput& in, int64_t panel, int count, float* out,
                 int64_t out_stride, MatmulScratch& scratch) {
  if (is_integer_format(w.format)) {
    integer_panels(kernels, w, in.tiles, panel, count, out, out_stride, scratch);
    if (in.fine.data == nullptr) return;
    constexpr int64_t kWidth = kMaxPanelRun * kPanelRows;
    float* fine = scratch.fine.ensure(static_cast<size_t>(in.rows * kWidth));
    integer_panels(kernels, w, in.fine, panel, count, fine, kWidth, scratch);
    for (int64_t r = 0; r < in.rows; ++r) kernels.add_rows(out + r * out_stride, fine + r * kWidth, count * kPanelRows);
  } else {
    for (int p = 0; p < count; ++p) float_panel(kernels, w, in, panel + p, out + p * kPanelRows, out_stride);
  }
}

}  // namespace

void matmul_panels(const KernelTable& kernels, const PackedMatrix& w, const MatmulInput& in, int64_t first_panel, int64_t last_panel,
                   float* out, int64_t out_stride, MatmulScratch& scratch) {
  if (in.rows == 0) return;
  int64_t whole_end = std::min(last_panel, w.rows / kPanelRows);
  const int64_t run = in.rows < kPanelRunFromRows ? 1 : kMaxPanelRun;
  for (int64_t p = first_panel; p < whole_end; p += run) {
    auto count = static_cast<int>(std::min(run, whole_end - p));
    panels_into(kernels, w, in, p, count, out + p * kPanelRows, out_stride, scratch);
  }
  if (whole_end >= last_panel) return;
  // The last panel has fewer outputs than lanes.
  float* part = scratch.part.ensure(static_cast<size_t>(in.rows * kPanelRows));
  panels_into(kernels, w, in, whole_end, 1, part, kPanelRows, scratch);
  int64_t width = w.rows - whole_end * kPanelRows;
  for (int64_t r = 0; r < in.rows; ++r) std::copy_n(part + r * kPanelRows, width, out + r * out_stride + whole_end * kPanelRows);
}

void matmul(const KernelTable& kernels, const Team& team, const PackedMatrix& w, const MatmulInput& in, float* out, int64_t out_stride,
            MatmulScratch& scratch) {
  auto [first, last] = team.share(w.panels());
  matmul_panels(kernels, w, in, first, last, out, out_stride, scratch);
}

void quantize_rows(const KernelTable& kernels, const float* x, int64_t x_stride, int64_t first, int64_t last, const ActivationTiles& tiles,
                   const ActivationTiles& fine) {
  for (int64_t row = first; row < last; ++row) {
    int64_t t = row / tiles.tile_rows;
    uint8_t* fine_tile = fine.data != nullptr ? fine.tile(t) : nullptr;
    kernels.quantize_row(x + row * x_stride, tiles.columns, tiles.tile(t), fine_tile, tiles.tile_height(t), static_cast<int>(row % tiles.tile_rows));
  }
}

}  // namespace inferens
