// A weight matrix in packed form: y[n] = sum_k w[n,k] x[k]. Made once at load from a GGUF tensor; the numbers are the
// file's own, only their places change.
#pragma once

#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "base/team.h"
#include "formats/gguf.h"
#include "inferens/status.h"
#include "kernels/weight_format.h"

namespace inferens {

struct PackedMatrix {
  WeightFormat format = WeightFormat::kF32;
  int64_t rows = 0;     // outputs, n
  int64_t columns = 0;  // inputs, k
  const std::byte* data = nullptr;  // [panels] of panel_bytes(format, columns), 64-byte aligned
  int64_t panels() const { return (rows + kPanelRows - 1) / kPanelRows; }
  int64_t bytes_per_panel() const { return panel_bytes(format, columns); }
  int64_t bytes() const { return panels() * bytes_per_panel(); }
  const std::byte* panel(int64_t p) const { return data + p * bytes_per_panel(); }
};

// Which packed format a tensor gets. Types with an exact int8 form keep it when a row is whole blocks; everything else
// (and all of it when `float_path`) becomes float: f16 and bf16 stay 16 bits, the rest f32.
WeightFormat packed_format_for(TensorType type, uint64_t row_length, bool float_path);

// Packs rows [row_begin, row_end) (multiples of 16, or the end) of `t` into `out`, which has room for their panels.
// Thread safe. t must be two-dimensional: t.shape[0] columns, t.rows() rows.
Status pack_rows(const TensorInfo& t, WeightFormat format, int64_t row_begin, int64_t row_end, std::byte* out);

}  // namespace inferens
