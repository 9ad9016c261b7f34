// Writes GGUF v3 files: metadata of every type, then tensors, whose bytes are asked for one tensor at a time so that a
// model larger than memory can be written. The file appears whole or not at all.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/gguf.h"
#include "inferens/status.h"

namespace inferens {

// An array value over the caller's memory, which must last until the value has been set. T: a number or bool of
// GgufValue.
template <class T>
GgufValue gguf_array(std::span<const T> elements) {
  auto array = std::make_shared<GgufArray>();
  array->element_type = static_cast<uint32_t>(GgufValue(T{}).index());
  array->count = elements.size();
  array->raw = std::as_bytes(elements);
  return std::shared_ptr<const GgufArray>(std::move(array));
}
GgufValue gguf_array(std::vector<std::string_view> strings);

class GgufWriter {
 public:
  // Gives a tensor's bytes when its turn comes; called once per write, in the order of add_tensor.
  using TensorSource = std::function<StatusOr<std::string>()>;

  // Copies the value. A key set again keeps its place and takes the new value. 'general.alignment' is obeyed.
  void set(std::string_view key, const GgufValue& value);

  // shape[0] is the length of a row; 0 to 4 dimensions. Refuses what a reader would: an empty or known name, a zero
  // dimension, rows that are not whole blocks.
  Status add_tensor(std::string_view name, TensorType type, std::span<const uint64_t> shape, TensorSource source);
  // The same for bytes at hand, which must last until the file is written.
  Status add_tensor(std::string_view name, TensorType type, std::span<const uint64_t> shape,
                    std::span<const std::byte> data);

  Status write(const std::string& path) const;
  StatusOr<std::string> to_bytes() const;

 private:
  using ByteSink = std::function<Status(std::string_view)>;
  struct Tensor {
    std::string name;
    TensorType type;
    std::vector<uint64_t> shape;
    uint64_t bytes;
    TensorSource source;
  };
  StatusOr<uint32_t> alignment() const;
  std::string header(uint32_t alignment) const;
  Status write_to(const ByteSink& sink) const;

  std::vector<std::pair<std::string, std::string>> metadata_;  // key, type and value as stored
  std::map<std::string, size_t, std::less<>> metadata_index_;
  std::vector<Tensor> tensors_;
  std::map<std::string, size_t, std::less<>> tensor_index_;
};

}  // namespace inferens
