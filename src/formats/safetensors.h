// Reads safetensors files (the container of Hugging Face checkpoints), whole or sharded, memory-mapped. A file is
// hostile until proven sound: the header is at most 100 MB of flat JSON, and the tensors fill the rest exactly, in
// order, without gap or overlap. Nothing in it is ever run. Source: the format description of the `safetensors`
// project, and its Python package as reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "formats/gguf.h"
#include "inferens/status.h"

namespace inferens {

struct SafetensorsTensor {
  std::string name;
  std::string dtype;               // as stored: "BF16"
  std::optional<TensorType> type;  // what dequantize() calls it; none for bool, unsigned, complex and 8-bit float types
  std::vector<uint64_t> shape;     // outermost first, as PyTorch prints it; empty for a scalar; a dimension may be 0
  std::span<const std::byte> data;
  uint64_t elements() const;
};

class SafetensorsFile {
 public:
  // Opens a .safetensors file, a sharded checkpoint by its *.safetensors.index.json, or a folder that holds
  // model.safetensors or model.safetensors.index.json. Errors are one line that names the file, the reason and what to
  // do. As with GgufFile, another process must not shorten an open file.
  static StatusOr<SafetensorsFile> open(const std::string& path);
  // The same checks over one file's bytes in memory. The bytes must outlive the result.
  static StatusOr<SafetensorsFile> parse(std::span<const std::byte> bytes, const std::string& name);

  const std::string& path() const { return path_; }
  uint64_t file_bytes() const { return bytes_; }  // all shards
  // The free-form "__metadata__" of the file, or of the first shard.
  const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }
  // In the order of their data, shard after shard.
  const std::vector<SafetensorsTensor>& tensors() const { return tensors_; }
  const SafetensorsTensor* find_tensor(std::string_view name) const;

 private:
  static StatusOr<SafetensorsFile> open_file(const std::string& path);
  static StatusOr<SafetensorsFile> open_sharded(const std::string& index_path);
  Status add_shard(SafetensorsFile shard);

  std::string path_;
  std::vector<MappedFile> shards_;
  uint64_t bytes_ = 0;
  std::map<std::string, std::string, std::less<>> metadata_;
  std::vector<SafetensorsTensor> tensors_;
  std::map<std::string, size_t, std::less<>> tensor_index_;
};

}  // namespace inferens
