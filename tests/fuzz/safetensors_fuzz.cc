// Any bytes as a safetensors file, and as the index of a sharded one. What is accepted must lie inside the bytes and
// fill them without gap or overlap.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "formats/dequantize.h"
#include "formats/safetensors.h"
#include "formats/safetensors_json.h"

namespace {

// An invariant of the reader that does not hold ends the fuzzer, which is how it reports.
void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  const auto index = inferens::parse_safetensors_index({reinterpret_cast<const char*>(data), size});
  if (index.ok()) {
    for (const auto& [tensor, file] : *index)
      require(!file.empty() && file != ".." && file.find('/') == std::string::npos);
  }
  const auto file = inferens::SafetensorsFile::parse(bytes, "fuzz");
  if (!file.ok()) {
    require(file.status().message().starts_with("'fuzz': ") && file.status().message().find('\n') == std::string::npos);
    return 0;
  }
  size_t total = 0;
  for (const auto& tensor : file->tensors()) {
    require(file->find_tensor(tensor.name) == &tensor);
    require(tensor.data.data() >= bytes.data() &&
            tensor.data.data() + tensor.data.size() <= bytes.data() + bytes.size());
    total += tensor.data.size();
    if (!tensor.type) continue;
    std::vector<float> values(tensor.elements());
    require(inferens::dequantize(*tensor.type, tensor.data, values).ok());
  }
  require(total <= size);
  return 0;
}
