// What a step must read: the weights of a file as the kernels hold them, and the keys and values of a sequence.
#pragma once

#include <cstdint>

#include "formats/gguf.h"
#include "model/model.h"

namespace inferens {

struct ModelBytes {
  int64_t packed = 0;    // bytes of all matrices in packed form, the head with them: read once by every step
  int64_t weights = 0;   // weights of the layers' matrices, without embedding and head: two operations each per token
  int64_t head_weights = 0;
};
ModelBytes model_bytes(const GgufFile& file, bool float_path);

// Bytes of keys and values that one token at `context` earlier ones reads.
int64_t kv_bytes_read(const Model& model, int64_t context);

}  // namespace inferens
