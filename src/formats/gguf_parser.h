// Turns the bytes of one GGUF file into a GgufFile, or into the reason why they are not sound. Inside this folder only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "formats/byte_reader.h"
#include "formats/gguf.h"
#include "inferens/status.h"

namespace inferens {

class GgufParser {
 public:
  // The bytes must outlive the parser and what it fills; `name` is for errors.
  GgufParser(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name), reader_(bytes) {}

  // Fills version, metadata and tensors of `file`. Every error begins with the file's name.
  Status parse_into(GgufFile& file);

 private:
  Status parse(GgufFile& file);
  Status parse_header(GgufFile& file);
  Status parse_metadata(GgufFile& file);
  StatusOr<GgufValue> parse_value(uint32_t type);
  StatusOr<std::shared_ptr<const GgufArray>> parse_array(int depth);
  Status parse_array_elements(GgufArray& array, int depth);
  Status parse_tensor_infos(GgufFile& file);
  Status parse_tensor_info(TensorInfo& tensor, uint64_t& offset);
  StatusOr<size_t> alignment_of(const GgufFile& file) const;
  Status place_tensors(GgufFile& file, std::span<const uint64_t> offsets);
  Status check_no_overlap(const GgufFile& file) const;

  std::span<const std::byte> bytes_;
  const std::string& name_;
  ByteReader reader_;
  uint64_t tensor_count_ = 0;
  uint64_t metadata_count_ = 0;
  uint64_t strings_seen_ = 0;
  uint64_t nested_arrays_seen_ = 0;
};

}  // namespace inferens
