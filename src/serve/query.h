// The query of a request, and percent signs in it and in paths.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inferens {

// "%3A" to ":"; nullopt: a percent sign without two hexadecimal digits, or a zero byte.
std::optional<std::string> percent_decoded(std::string_view text);

// The first value of `name` in "a=1&b=2", decoded; nullopt when it is absent or badly written.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

}  // namespace inferens
