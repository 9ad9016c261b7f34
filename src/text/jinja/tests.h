// The tests: value is name(arguments).
#pragma once

#include <string_view>

#include "text/jinja/runtime.h"

namespace inferens::jinja {

struct Test {
  std::string_view name;
  bool (*apply)(Runtime& runtime, const Value& value, const Arguments& arguments);
};

const Test* find_test(std::string_view name);

}  // namespace inferens::jinja
