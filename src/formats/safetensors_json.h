// The two JSON texts of safetensors, read as a stream of events: no tree is built, so nesting and size cost nothing and
// anything but the expected shape is refused. Inside this folder only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "inferens/status.h"

namespace inferens {

struct SafetensorsEntry {
  std::string dtype;
  std::vector<uint64_t> shape;
  std::vector<uint64_t> data_offsets;  // begin and end, from the end of the header; exactly two
};

struct SafetensorsHeader {
  std::map<std::string, std::string, std::less<>> metadata;
  std::map<std::string, SafetensorsEntry> tensors;
};

StatusOr<SafetensorsHeader> parse_safetensors_header(std::string_view json);

// The "weight_map" of an index: tensor name to file name. File names are plain names in the index's own folder.
StatusOr<std::map<std::string, std::string>> parse_safetensors_index(std::string_view json);

}  // namespace inferens
