// The names of the parts of a split model: "<stem>-00001-of-00003.gguf". Inside this folder only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace inferens {

struct SplitName {
  std::string stem;    // path and name before "-00001-of-00003.gguf"
  uint32_t index = 0;  // from 0
  uint32_t count = 0;
};

// nullopt when the path does not end as a part's name does. Numbers are as written: index < count is not checked.
std::optional<SplitName> parse_split_name(std::string_view path);
std::string split_path(const std::string& stem, uint32_t index, uint32_t count);

}  // namespace inferens
