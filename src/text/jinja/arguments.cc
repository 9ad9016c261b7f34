// How a call's arguments meet a function's parameters.
#include <algorithm>

#include "text/jinja/value.h"

namespace inferens::jinja {

std::vector<Value> Arguments::bind(std::string_view function, std::initializer_list<Parameter> parameters) const {
  const std::string name(function);
  if (positional.size() > parameters.size())
    fail(name + "() takes at most " + std::to_string(parameters.size()) + " arguments");
  std::vector<Value> result(parameters.size());
  std::vector<bool> given(parameters.size(), false);
  for (size_t i = 0; i < positional.size(); ++i) {
    result[i] = positional[i];
    given[i] = true;
  }
  for (const auto& [key, value] : keyword) {
    const auto* parameter = std::find_if(parameters.begin(), parameters.end(), [&key = key](const Parameter& p) {
      return !p.name.empty() && p.name == key.view();
    });
    if (parameter == parameters.end()) fail(name + "() got an unexpected keyword argument '" + key.str() + "'");
    const auto i = static_cast<size_t>(parameter - parameters.begin());
    if (given[i]) fail(name + "() got multiple values for argument '" + key.str() + "'");
    result[i] = value;
    given[i] = true;
  }
  size_t i = 0;
  for (const Parameter& parameter : parameters) {
    if (!given[i]) {
      if (!parameter.default_value) fail(name + "() is missing argument '" + std::string(parameter.name) + "'");
      result[i] = *parameter.default_value;
    }
    ++i;
  }
  return result;
}

int64_t integer_argument(const Value& value) {
  if (!value.is_integral()) fail("'" + std::string(type_name(value)) + "' object cannot be interpreted as an integer");
  return value.integer();
}

const Text& text_argument(const Value& value) {
  if (value.is_undefined()) fail_undefined(value);
  if (!value.is_text()) fail("must be str, not " + std::string(type_name(value)));
  return value.text();
}

}  // namespace inferens::jinja
