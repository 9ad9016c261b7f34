// The filters: value | name(arguments). Jinja's built-in ones with its argument names, and Hugging Face's tojson.
#pragma once

#include <span>
#include <string_view>

#include "text/jinja/runtime.h"

namespace inferens::jinja {

struct Filter {
  std::string_view name;
  Value (*apply)(Runtime& runtime, const Value& value, const Arguments& arguments);
};

// nullptr when there is none of that name.
const Filter* find_filter(std::string_view name);

// The tables that find_filter looks into.
std::span<const Filter> text_filters();
std::span<const Filter> markup_filters();
std::span<const Filter> number_filters();
std::span<const Filter> sequence_filters();
std::span<const Filter> selection_filters();

}  // namespace inferens::jinja
