// A call as Python spells it, to the tool's name and its arguments as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inferens {

struct PythonCall {
  std::string name;
  std::string arguments_json;
};

// A literal as JSON. nullopt: anything else.
std::optional<std::string> parse_python_value(std::string_view text);

// "get_weather(city='Oslo', days=[1, 2])": keyword arguments whose values are literals. nullopt: anything else.
std::optional<PythonCall> parse_python_call(std::string_view text);

}  // namespace inferens
