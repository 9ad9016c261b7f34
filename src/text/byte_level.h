// The alphabet of byte-level BPE: GPT-2 spells each byte as one printable character, so that vocabularies are text.
#pragma once

#include <string>
#include <string_view>

namespace inferens {

// The bytes that a spelling stands for, appended to `out`; false, and `out` as it was, when a character is not in the
// alphabet.
bool append_byte_level(std::string_view spelling, std::string& out);

}  // namespace inferens
