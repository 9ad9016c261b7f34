// UTF-8 by hand: strict decoding (no overlong forms, no surrogates, nothing above U+10FFFF).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace inferens {

struct CodePoint {
  char32_t value = 0;
  uint8_t length = 0;   // bytes taken, ≥ 1
  bool valid = false;   // false: value is U+FFFD and length covers the maximal bad subpart (Unicode 3.9, table 3-8)
};

// Decodes the code point at `offset` (< text.size()).
CodePoint decode_utf8(std::string_view text, size_t offset);

void append_utf8(char32_t code_point, std::string& out);

bool is_valid_utf8(std::string_view text);

// How many bytes at the end of `text` are the start of a well-formed code point that is not complete yet (0..3).
size_t incomplete_utf8_suffix(std::string_view text);

// The text with every bad subpart replaced by U+FFFD.
std::string repair_utf8(std::string_view text);

}  // namespace inferens
