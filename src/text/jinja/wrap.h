// Line wrapping as Python's textwrap does it, for the wordwrap filter.
#pragma once

#include <vector>

#include "text/jinja/runtime.h"

namespace inferens::jinja {

struct WrapStyle {
  int64_t width = 79;
  bool break_long_words = true;
  bool break_on_hyphens = true;
};

std::vector<Text> wrap_line(Runtime& runtime, const Text& line, const WrapStyle& style);

}  // namespace inferens::jinja
