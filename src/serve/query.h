// The query of a request, and percent signs in it and in paths.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "serve/api_error.h"

namespace inferens {

// "%3A" to ":"; nullopt: a percent sign without two hexadecimal digits, or a zero byte.
std::optional<std::string> percent_decoded(std::string_view text);

// The first value of `name` in "a=1&b=2", decoded; nullopt when it is absent or badly written.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

// A whole number between `low` and `high`; `value` stays as it is when the query has none.
Refusal take_query_number(std::string_view query, const std::string& name, int64_t low, int64_t high, int64_t& value);

}  // namespace inferens
