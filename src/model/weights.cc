#include "model/weights.h"

#include <xxhash.h>

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
  if (t != nullptr) queue(*t, rows, columns, out);
}

void WeightLoader::matrices(const std::string& name, int32_t count, int64_t rows, int64_t columns, std::vector<Linear>& out) {
  const TensorInfo* t = expect(name, count * rows, columns);
  if (t == nullptr) return;
  out.resize(static_cast<size_t>(count));
  TensorInfo one = *t;
  one.shape = {static_cast<uint64_t>(columns), static_cast<uint64_t>(rows), 1, 1};
  one.dimensions = 2;
  size_t bytes = static_cast<size_t>(rows) * t->row_bytes();
  for (size_t i = 0; i < out.size(); ++i) {
    one.data = t->data.subspan(i * bytes, bytes);
    queue(one, rows, columns, out[i]);
  }
}

void WeightLoader::queue(const TensorInfo& t, int64_t rows, int64_t columns, Linear& out) {
  out.w.format = packed_format_for(t.type, t.row_length(), float_path_);
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

PackedPlan WeightLoader::plan() const {
  std::string text;
  for (const Pending& p : pending_) {
    const PackedMatrix& w = p.linear->w;
    text += std::string(p.tensor.name) + " " + std::string(tensor_type_name(p.tensor.type));
    for (int64_t number : {static_cast<int64_t>(w.format), w.rows, w.columns, static_cast<int64_t>(p.offset)}) text += " " + std::to_string(number);
    text += "\n";
  }
  return {arena_bytes_, XXH3_64bits(text.data(), text.size())};
}

void WeightLoader::place(const std::byte* arena) {
  for (const Pending& p : pending_) p.linear->w.data = arena + p.offset;
}

StatusOr<WeightArena> WeightLoader::pack(WorkerPool& pool, const PackedCacheOptions& options) {
  if (!status_.ok()) return status_;
  WeightArena arena;
  auto cache = PackedCache::make(options, *file_, plan(), pool);
  auto kept = cache ? cache->find() : std::nullopt;
  if (!kept) {
    auto memory = pack_in_memory(pool);
    if (!memory.ok()) return memory.status();
    arena.memory = *std::move(memory);
    if (cache) kept = cache->keep({arena.memory.data(), arena_bytes_});
  }
  if (kept) arena = {{}, *std::move(kept)};
  place(kept ? PackedCache::payload(arena.file) : arena.memory.data());
  return arena;
}

StatusOr<AlignedMemory> WeightLoader::pack_in_memory(WorkerPool& pool) {
  auto arena = AlignedMemory::allocate(arena_bytes_);
  if (!arena.ok()) return arena.status().with_context("weights");
  std::mutex mutex;
  for (const Pending& p : pending_) {
    std::byte* base = arena->data() + p.offset;
    const PackedMatrix& w = p.linear->w;
    // Pieces of about a megabyte: enough to share out, few enough to cost nothing.
    int64_t panels_per_piece = std::max<int64_t>(1, (int64_t{1} << 20) / w.bytes_per_panel());
    int64_t rows_per_piece = panels_per_piece * kPanelRows;
    pool.for_each((w.rows + rows_per_piece - 1) / rows_per_piece, [&](int64_t piece, int) {
      int64_t begin = piece * rows_per_piece;
      int64_t end = std::min(begin + rows_per_piece, w.rows);
      Status s = pack_rows(p.tensor, w.format, begin, end, base + piece * panels_per_piece * w.bytes_per_panel());
      if (!s.ok()) {
        std::lock_guard lock(mutex);
        fail(std::move(s));
      }
      // The packed form replaces the file's bytes: never both in memory.
      size_t row_bytes = p.tensor.row_bytes();
      file_->drop_resident(p.tensor.data.subspan(static_cast<size_t>(begin) * row_bytes, static_cast<size_t>(end - begin) * row_bytes));
    });
  }
  if (!status_.ok()) return status_;
  return arena;
}

}  // namespace inferens
