#include "formats/gguf_split.h"

#include <charconv>

namespace inferens {
namespace {

constexpr size_t kDigits = 5;

std::optional<uint32_t> read_digits(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string write_digits(uint32_t value) {
  std::string digits = std::to_string(value);
  if (digits.size() < kDigits) digits.insert(0, kDigits - digits.size(), '0');
  return digits;
}

}  // namespace

std::optional<SplitName> parse_split_name(std::string_view path) {
  constexpr std::string_view kSuffix = ".gguf", kOf = "-of-";
  constexpr size_t kTail = 1 + kDigits + kOf.size() + kDigits + kSuffix.size();
  if (path.size() <= kTail || !path.ends_with(kSuffix)) return std::nullopt;
  const std::string_view tail = path.substr(path.size() - kTail);
  if (tail[0] != '-' || tail.substr(1 + kDigits, kOf.size()) != kOf) return std::nullopt;
  const auto index = read_digits(tail.substr(1, kDigits));
  const auto count = read_digits(tail.substr(1 + kDigits + kOf.size(), kDigits));
  if (!index || !count || *index == 0) return std::nullopt;
  return SplitName{std::string(path.substr(0, path.size() - kTail)), *index - 1, *count};
}

std::string split_path(const std::string& stem, uint32_t index, uint32_t count) {
  return stem + "-" + write_digits(index + 1) + "-of-" + write_digits(count) + ".gguf";
}

}  // namespace inferens
