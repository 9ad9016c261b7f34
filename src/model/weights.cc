#include "model/weights.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "formats/dequantize.h"

namespace inferens {

const TensorInfo* WeightLoader::expect(const std::string& name, int64_t rows, int64_t columns) {
  const TensorInfo* t = file_->find_tensor(name);
  if (t == nullptr) {
    fail(data_loss("tensor '" + name + "' is missing"));
    return nullptr;
  }
  if (t->row_length() != static_cast<uint64_t>(columns) || t->rows() != static_cast<uint64_t>(rows)) {
    fail(data_loss("tensor '" + name + "' has the shape " + std::to_string(t->row_length()) + " x " + std::to_string(t->rows()) +
                   " where the metadata asks for " + std::to_string(columns) + " x " + std::to_string(rows)));
    return nullptr;
  }
  return t;
}

void WeightLoader::matrix(const std::string& name, int64_t rows, int64_t columns, Linear& out) {
  const TensorInfo* t = expect(name, rows, columns);
  if (t == nullptr) return;
  out.w.format = packed_format_for(t->type, t->row_length(), float_path_);
  out.w.rows = rows;
  out.w.columns = columns;
  pending_.push_back({t, &out, arena_bytes_});
  arena_bytes_ += static_cast<size_t>((out.w.bytes() + 63) / 64 * 64);
}

void WeightLoader::vector(const std::string& name, int64_t size, Vector& out) {
  const TensorInfo* t = expect(name, 1, size);
  if (t == nullptr) return;
  out.resize(static_cast<size_t>(size));
  if (Status s = dequantize(t->type, t->data, out); !s.ok()) fail(s.with_context("tensor '" + name + "'"));
  for (float v : out) {
    if (!std::isfinite(v)) return fail(data_loss("tensor '" + name + "' holds a value that is not a finite number"));
  }
}

void WeightLoader::optional_vector(const std::string& name, int64_t size, Vector& out) {
  if (has(name)) vector(name, size, out);
}

void WeightLoader::rows_on_demand(const std::string& name, int64_t rows, int64_t columns, const TensorInfo*& out) {
  out = expect(name, rows, columns);
}

StatusOr<AlignedMemory> WeightLoader::pack(WorkerPool& pool) {
  if (!status_.ok()) return status_;
  auto arena = AlignedMemory::allocate(arena_bytes_);
  if (!arena.ok()) return arena.status().with_context("weights");
  std::mutex mutex;
  for (const Pending& p : pending_) {
    std::byte* base = arena->data() + p.offset;
    p.linear->w.data = base;
    // Pieces of about a megabyte: enough to share out, few enough to cost nothing.
    int64_t panels_per_piece = std::max<int64_t>(1, (int64_t{1} << 20) / p.linear->w.bytes_per_panel());
    int64_t rows_per_piece = panels_per_piece * kPanelRows;
    pool.for_each((p.linear->w.rows + rows_per_piece - 1) / rows_per_piece, [&](int64_t piece, int) {
      int64_t begin = piece * rows_per_piece;
      int64_t end = std::min(begin + rows_per_piece, p.linear->w.rows);
      Status s = pack_rows(*p.tensor, p.linear->w.format, begin, end, base + piece * panels_per_piece * p.linear->w.bytes_per_panel());
      if (!s.ok()) {
        std::lock_guard lock(mutex);
        fail(std::move(s));
      }
      // The packed form replaces the file's bytes: never both in memory.
      size_t row_bytes = p.tensor->row_bytes();
      file_->drop_resident(p.tensor->data.subspan(static_cast<size_t>(begin) * row_bytes, static_cast<size_t>(end - begin) * row_bytes));
    });
  }
  if (!status_.ok()) return status_;
  return arena;
}

}  // namespace inferens
