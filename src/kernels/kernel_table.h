// The functions one instruction set offers, as plain pointers: chosen once, called by the operators of kernels/*.cc, which
// know how to share out work and nothing of registers.
#pragma once

#include <cstdint>

#include "inferens/status.h"
#include "kernels/activation_tiles.h"
#include "kernels/attention.h"
#include "kernels/isa.h"
#include "kernels/weight_format.h"

namespace inferens {

namespace inl {
struct Strip;
}

constexpr int kMaxTileRows = 16;
constexpr int kMaxPackedRows = 8;  // dot_packed exists for 1 … this many rows
constexpr int kKvElements = 4;

// Neighbouring panels that meet the activations together, so that these are read once for all of them.
constexpr int kMaxPanelRun = 4;
struct PanelRun {
  const uint8_t* first;
  int64_t panel_bytes;
  int64_t blocks;  // of 32 columns
  int count;       // ≤ kMaxPanelRun
  const uint8_t* panel(int i) const { return first + i * panel_bytes; }
};

struct KernelTable {
  Isa isa = Isa::kPortable;
  int tile_rows = 1;  // ≤ kMaxTileRows

  // Integer products (kernels/inl/matmul.h).
  void (*quantize_row)(const float* x, int64_t columns, uint8_t* tile, uint8_t* fine, int height, int row) = nullptr;
  void (*unpack_strip[kIntegerFormats])(const uint8_t* panel, int64_t blocks, int64_t first, inl::Strip& out) = {};
  void (*dot_strip[kIntegerFormats][kMaxTileRows])(const inl::Strip& strip, const uint8_t* tile, int zero_shift, bool first, float* out,
                                                   int64_t out_stride) = {};
  void (*dot_packed[kIntegerFormats][kMaxPackedRows])(const uint8_t* panel, int64_t blocks, const uint8_t* tile, float* out,
                                                      int64_t out_stride) = {};
  // Float products: format - kF32, rows - 1.
  void (*dot_float[3][kMaxTileRows])(const uint8_t* panel, int64_t columns, const float* x, int64_t x_stride, float* out,
                                     int64_t out_stride) = {};
  // Optional: all tiles of a run of panels by AMX; null elsewhere. Same bits as dot_strip. scratch: strip_scratch_bytes().
  void (*dot_panel_tiles[kIntegerFormats])(const PanelRun& run, const ActivationTiles& tiles, float* out, int64_t out_stride,
                                           uint8_t* scratch) = {};

  // Rows (kernels/inl/rows.h).
  void (*rms_norm)(const float* x, const float* weight, int64_t n, float epsilon, float* out) = nullptr;
  void (*add_rows)(float* x, const float* y, int64_t n) = nullptr;
  void (*scale_row)(float* x, float by, int64_t n) = nullptr;
  void (*gated_silu)(float* gate, const float* up, int64_t n) = nullptr;
  void (*gated_gelu)(float* gate, const float* up, int64_t n) = nullptr;

  // Attention (kernels/inl/attention.h).
  void (*attend_split[kKvElements])(const AttentionRows& a, int64_t split, float* scratch, const AttentionState& state) = {};
  void (*merge_row)(float& maximum, float& sum, float* values, float part_maximum, float part_sum, const float* part_values,
                    int head_dim) = nullptr;
  void (*finish_row)(float sum, const float* values, int head_dim, float* out) = nullptr;
  void (*write_kv[kKvElements])(const float* k, const float* v, int head_dim, int slot, std::byte* block) = {};
};

// The table of an instruction set; an error when it was not built in or this CPU lacks it.
StatusOr<const KernelTable*> kernels_for(Isa isa);

}  // namespace inferens
