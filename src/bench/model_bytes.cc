#include "bench/model_bytes.h"

#include <algorithm>
#include <string_view>

#include "kernels/packed_matrix.h"

namespace inferens {

ModelBytes model_bytes(const GgufFile& file, bool float_path) {
  ModelBytes bytes;
  const std::string_view head = file.find_tensor("output.weight") != nullptr ? "output.weight" : "token_embd.weight";
  for (const TensorInfo& t : file.tensors()) {
    const bool layer = t.name.starts_with("blk.");
    if (t.dimensions != 2 || (!layer && t.name != head)) continue;
    PackedMatrix packed;
    packed.format = packed_format_for(t.type, t.row_length(), float_path);
    packed.rows = static_cast<int64_t>(t.rows());
    packed.columns = static_cast<int64_t>(t.row_length());
    bytes.packed += packed.bytes();
    (layer ? bytes.weights : bytes.head_weights) += packed.rows * packed.columns;
  }
  return bytes;
}

int64_t kv_bytes_read(const Model& model, int64_t context) {
  int64_t bytes = 0;
  for (const KvGroup& group : model.kv_groups()) {
    const int64_t seen = group.window > 0 ? std::min<int64_t>(context + 1, group.window) : context + 1;
    bytes += seen * static_cast<int64_t>(group.page_bytes) / kPageTokens;
  }
  return bytes;
}

}  // namespace inferens
