// Python's int("…") and float("…").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace inferens::jinja {

// nullopt: Python's ValueError. A number beyond 64 bits fails as unsupported. base 0 reads 0x, 0o and 0b.
std::optional<int64_t> parse_int(std::string_view text, int64_t base);
std::optional<double> parse_double(std::string_view text);

}  // namespace inferens::jinja
