// Unicode normalization of text that may hold bytes that are no UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace inferens {

// True when NFC surely leaves the text as it is; cheap, and right for most text.
bool is_surely_nfc(std::string_view text);

// Canonical composition of the well-formed stretches; other bytes stay where they are.
std::string to_nfc(std::string_view text);

// Canonical decomposition, likewise.
std::string to_nfd(std::string_view text);

}  // namespace inferens
