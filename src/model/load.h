// From a GGUF file to a model that can run.
#pragma once

#include <memory>

#include "formats/gguf.h"
#include "inferens/status.h"
#include "model/model.h"
#include "model/packed_cache.h"

namespace inferens {

struct LoadOptions {
  int threads = 0;                  // 0: what affinity and cgroup quota give
  KvType kv_type = KvType::kF16;
  int32_t context = 0;              // a cap below the model's own context length; 0: none
  bool float_path = false;          // products in float32 on dequantized weights, for checks of accuracy
  PackedCacheOptions packed_cache = {};  // off unless its home is set; never used by the float path
};

// Errors name what is missing or wrong; the caller adds the file's name. The file is kept open: embedding rows are read
// from it on demand.
StatusOr<std::unique_ptr<Model>> load_model(std::shared_ptr<const GgufFile> file, const LoadOptions& options);

}  // namespace inferens
