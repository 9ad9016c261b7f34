// Model weights in memory: matrices packed for the kernels in one arena (memory, or a packed file of an earlier start),
// vectors as floats, and the embedding rows read from the mapped file on demand. Every tensor's shape is checked against the configuration before it is used.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/worker_pool.h"
#include "formats/gguf.h"
#include "inferens/status.h"
#include "kernels/packed_matrix.h"
#include "model/packed_cache.h"

namespace inferens {

using Vector = std::vector<float>;

// A matrix and the bias of its outputs (empty: none). `fine`: its input is used in about 15 bits instead of 8. Keys and
// values are worth it: they are small matrices, and an error in them is seen by every later token.
struct Linear {
  PackedMatrix w;
  Vector bias;
  bool fine = false;
};

// Where packed matrices lie: one of both.
struct WeightArena {
  AlignedMemory memory;
  MappedFile file;
};

// Collects what an architecture asks for, then packs all matrices at once, on all workers.
class WeightLoader {
 public:
  WeightLoader(std::shared_ptr<const GgufFile> file, bool float_path) : file_(std::move(file)), float_path_(float_path) {}

  // A matrix of `rows` outputs and `columns` inputs. The Linear must stay where it is until pack().
  void matrix(const std::string& name, int64_t rows, int64_t columns, Linear& out);
  // `count` such matrices that lie one after another in a tensor of three dimensions.
  void matrices(const std::string& name, int32_t count, int64_t rows, int64_t columns, std::vector<Linear>& out);
  bool has(const std::string& name) const { return file_->find_tensor(name) != nullptr; }
  void vector(const std::string& name, int64_t size, Vector& out);
  void optional_vector(const std::string& name, int64_t size, Vector& out);
  // A matrix whose rows are read one by one and not packed.
  void rows_on_demand(const std::string& name, int64_t rows, int64_t columns, const TensorInfo*& out);

  // The first error of all calls above, or packs everything. The arena must outlive the Linears.
  StatusOr<WeightArena> pack(WorkerPool& pool, const PackedCacheOptions& cache);

 private:
  struct Pending {
    TensorInfo tensor;
    Linear* linear;
    size_t offset;
  };
  PackedPlan plan() const;
  void place(const std::byte* arena);
  StatusOr<AlignedMemory> pack_in_memory(WorkerPool& pool);
  void queue(const TensorInfo& t, int64_t rows, int64_t columns, Linear& out);
  const TensorInfo* expect(const std::string& name, int64_t rows, int64_t columns);
  void fail(Status s) {
    if (status_.ok()) status_ = std::move(s);
  }

  std::shared_ptr<const GgufFile> file_;
  bool float_path_;
  Status status_;
  std::vector<Pending> pending_;
  size_t arena_bytes_ = 0;
};

}  // namespace inferens
