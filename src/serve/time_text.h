// Points in time as the APIs write and read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace inferens {

std::string rfc3339(int64_t unix_seconds);                        // "2026-12-01T09:30:00Z"
std::optional<int64_t> parse_rfc3339(std::string_view text);      // Unix seconds, fractions dropped; only UTC, "Z"

}  // namespace inferens
