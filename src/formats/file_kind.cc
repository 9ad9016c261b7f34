#include "formats/file_kind.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace inferens {
namespace {

struct Magic {
  std::string_view bytes;
  std::string_view meaning;
};

using std::string_view_literals::operator""sv;

constexpr std::string_view kPickleRemedy =
    " (.pt, .bin), which can run code when it is loaded and is never read: get the model as .gguf or .safetensors";

constexpr Magic kMagics[] = {
    {"lmgg"sv, "it is a GGML file, the format before GGUF: get the model as .gguf"},
    {"fmgg"sv, "it is a GGMF file, a format before GGUF: get the model as .gguf"},
    {"tjgg"sv, "it is a GGJT file, a format before GGUF: get the model as .gguf"},
    {"algg"sv, "it is a GGLA adapter, a format before GGUF: get the adapter as .gguf"},
    {"version https://git-lfs"sv, "it is a Git LFS pointer, not the file itself: run 'git lfs pull' or download it"},
    {"\x1f\x8b"sv, "it is compressed with gzip: unpack it first"},
    {"\x28\xb5\x2f\xfd"sv, "it is compressed with zstd: unpack it first"},
    {"\xfd"
     "7zXZ"sv,
     "it is compressed with xz: unpack it first"},
    {"\x89HDF\r\n"sv, "it is an HDF5 file (Keras): get the model as .gguf or .safetensors"},
};

// safetensors: a 64-bit header length, then a JSON object.
bool looks_like_safetensors(std::string_view head, size_t file_bytes) {
  if (head.size() < 9 || head[8] != '{') return false;
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, head.data(), sizeof header_bytes);
  return header_bytes >= 2 && header_bytes <= file_bytes;
}

bool starts_with_ignoring_case(std::string_view text, std::string_view lower) {
  if (text.size() < lower.size()) return false;
  return std::equal(lower.begin(), lower.end(), text.begin(),
                    [](char l, char c) { return l == (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c); });
}

}  // namespace

std::string describe_wrong_file(std::span<const std::byte> bytes) {
  if (bytes.empty()) return "the file is empty: download the model again";
  const std::string_view head{reinterpret_cast<const char*>(bytes.data()), std::min<size_t>(bytes.size(), 512)};
  for (const Magic& magic : kMagics) {
    if (head.starts_with(magic.bytes)) return std::string(magic.meaning);
  }
  if (head.starts_with("GGUF")) return "it is a GGUF file: name it where a GGUF model is expected";
  if (head.starts_with("PK\x03\x04")) return "it is a zip archive or a PyTorch checkpoint" + std::string(kPickleRemedy);
  if (head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5) {
    return "it is a Python pickle" + std::string(kPickleRemedy);
  }
  if (looks_like_safetensors(head, bytes.size())) {
    return "it is a safetensors file: name the folder that holds it and its config.json, or get the model as .gguf";
  }
  const size_t text_start = std::min(head.find_first_not_of(" \t\r\n\xef\xbb\xbf"), head.size());
  const std::string_view text = head.substr(text_start);
  for (std::string_view opening : {"<!doctype html", "<html", "<head", "<?xml", "<!--"}) {
    if (starts_with_ignoring_case(text, opening)) {
      return "it is an HTML or XML page, as a failed download leaves: download the model again";
    }
  }
  if (text.starts_with('{') || text.starts_with('[')) return "it is JSON text: name the model file itself";
  if (std::all_of(head.begin(), head.end(), [](char c) { return c == 0; })) {
    return "it starts with zero bytes, as an interrupted download leaves: download the model again";
  }
  return "its first bytes are those of no known model format: check the path, or download the model again";
}

std::string quote_name(std::string_view text) {
  constexpr size_t kLongest = 80;
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "'";
  for (char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  out += text.size() > kLongest ? "…'" : "'";
  return out;
}

}  // namespace inferens
