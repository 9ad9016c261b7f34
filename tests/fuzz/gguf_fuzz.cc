// Any bytes as a GGUF file. What the reader accepts must keep its promises: views inside the bytes, values that can be
// read, tensors that can be expanded, and a writer that writes the same content again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "formats/dequantize.h"
#include "formats/gguf.h"
#include "formats/gguf_writer.h"

namespace {

using inferens::GgufFile;
using inferens::GgufWriter;
using inferens::Status;
using inferens::TensorInfo;

// An invariant of the reader that does not hold ends the fuzzer, which is how it reports.
void require(bool holds) {
  if (!holds) std::abort();
}

void read_metadata(const GgufFile& file) {
  for (const auto& [key, value] : file.metadata()) {
    require(file.find(key) == &value);
    require(value.index() == 8 || !file.get_string(key).ok());
    (void)file.get_uint(key);
    (void)file.get_int(key);
    (void)file.get_float(key);
    (void)file.get_bool(key);
    (void)file.get_strings(key);
    (void)file.get_floats(key);
    (void)file.get_ints(key);
  }
}

void read_tensors(const GgufFile& file, std::span<const std::byte> bytes) {
  for (const TensorInfo& tensor : file.tensors()) {
    require(file.find_tensor(tensor.name) == &tensor);
    require(tensor.elements() > 0 && tensor.row_bytes() * tensor.rows() == tensor.data.size());
    require(tensor.data.data() >= bytes.data() &&
            tensor.data.data() + tensor.data.size() <= bytes.data() + bytes.size());
    std::vector<float> weights(tensor.elements());
    require(inferens::dequantize(tensor.type, tensor.data, weights).ok());
  }
}

void write_again(const GgufFile& file) {
  GgufWriter writer;
  for (const auto& [key, value] : file.metadata()) writer.set(key, value);
  for (const TensorInfo& tensor : file.tensors()) {
    require(writer.add_tensor(tensor.name, tensor.type, std::span(tensor.shape).first(tensor.dimensions), tensor.data)
                .ok());
  }
  const auto copy = writer.to_bytes();
  require(copy.ok());
  const auto again = GgufFile::parse(std::as_bytes(std::span(*copy)), "copy");
  require(again.ok());
  require(again->metadata().size() == file.metadata().size() && again->tensors().size() == file.tensors().size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  const auto file = GgufFile::parse(bytes, "fuzz");
  if (!file.ok()) {
    require(file.status().message().starts_with("'fuzz': ") && file.status().message().find('\n') == std::string::npos);
    return 0;
  }
  read_metadata(*file);
  read_tensors(*file, bytes);
  write_again(*file);
  return 0;
}
