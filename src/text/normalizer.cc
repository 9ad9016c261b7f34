#include "text/normalizer.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

#include "base/utf8.h"

namespace inferens {
namespace {

void append_normalized(std::string_view valid, utf8proc_option_t options, std::string& out) {
  if (valid.empty()) return;
  utf8proc_uint8_t* raw = nullptr;
  const utf8proc_ssize_t length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(valid.data()),
                                               static_cast<utf8proc_ssize_t>(valid.size()), &raw, options);
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> result(raw, &std::free);
  // The text is well formed, so only memory can be short: then the text as it stands is the best there is.
  if (length < 0) {
    out.append(valid);
  } else {
    out.append(reinterpret_cast<const char*>(result.get()), static_cast<size_t>(length));
  }
}

std::string normalize(std::string_view text, int options) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  size_t valid_from = 0;
  size_t at = 0;
  while (at < text.size()) {
    const CodePoint c = decode_utf8(text, at);
    if (!c.valid) {
      append_normalized(text.substr(valid_from, at - valid_from), static_cast<utf8proc_option_t>(options), out);
      out.append(text.substr(at, c.length));
      valid_from = at + c.length;
    }
    at += c.length;
  }
  append_normalized(text.substr(valid_from), static_cast<utf8proc_option_t>(options), out);
  return out;
}

}  // namespace

bool is_surely_nfc(std::string_view text) {
  // Everything below U+0300 is NFC in any order; its lead bytes are below 0xCC.
  for (char byte : text) {
    if (static_cast<unsigned char>(byte) >= 0xCC) return false;
  }
  return true;
}

std::string to_nfc(std::string_view text) {
  return normalize(text, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
}

std::string to_nfd(std::string_view text) {
  return normalize(text, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
}

}  // namespace inferens
