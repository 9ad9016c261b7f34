// Packed weights on disk: what a model's matrices become at load is written once to $INFERENS_HOME/packed and mapped at the
// next start, one copy for all processes. A file is used only when its header, its sizes and the hash of all its bytes say
// that it was made from this model's very content by this version; anything else is made anew. Safe between processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/worker_pool.h"
#include "formats/gguf.h"
#include "inferens/status.h"

namespace inferens {

struct PackedCacheOptions {
  std::string home;                             // $INFERENS_HOME; empty: no cache
  uint64_t least_bytes = uint64_t{16} << 20;    // smaller models are packed faster than a file is looked up
  uint64_t most_bytes = uint64_t{32} << 30;     // of all files together; those not used for longest leave first
  uint64_t spare_bytes = uint64_t{1} << 30;     // left free on the disk
};

// Which matrices lie where in the packed bytes.
struct PackedPlan {
  uint64_t bytes = 0;
  uint64_t hash = 0;  // of every name, type, shape, format and offset
};

// The packed form of one model.
class PackedCache {
 public:
  // Nothing when the cache is off or the model not worth a file.
  static std::optional<PackedCache> make(const PackedCacheOptions& options, const GgufFile& file, PackedPlan plan, WorkerPool& pool);

  // The file of an earlier start, verified. A damaged one is logged and counts as absent.
  std::optional<MappedFile> find() const;
  // Writes `bytes` and gives back the map of the written file. Whatever prevents it is logged: the caller's bytes are as good.
  std::optional<MappedFile> keep(std::span<const std::byte> bytes) const;
  // The packed matrices of a file from find() or keep().
  static const std::byte* payload(const MappedFile& file);

 private:
  PackedCache(const PackedCacheOptions& options, const GgufFile& file, PackedPlan plan, WorkerPool& pool);
  Status write(std::span<const std::byte> bytes) const;
  Status make_room() const;
  // drop_pages: gives back each page once it was verified.
  StatusOr<MappedFile> open(bool drop_pages) const;

  PackedCacheOptions options_;
  PackedPlan plan_;
  WorkerPool* pool_;
  std::string folder_;
  std::string identity_;  // of the model's content
  std::string path_;
};

// Removes what was packed from the blob `blob_name` ("sha256-<hex>") of the store at `home`. Returns the bytes freed.
uint64_t remove_packed(const std::string& home, std::string_view blob_name);

}  // namespace inferens
