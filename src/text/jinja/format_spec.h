// What both formatting languages come down to: a specification, and values written by it.
#pragma once

#include <string>
#include <string_view>

#include "text/jinja/runtime.h"

namespace inferens::jinja {

constexpr int64_t kMaxPrecision = 300;

struct FormatSpec {
  std::string fill = " ";
  char align = 0;  // '<', '>', '^', '='; 0: the type's default
  char sign = '-';
  bool alternate = false;
  bool zero = false;
  int64_t width = 0;
  char grouping = 0;
  int64_t precision = -1;
  char type = 0;
};

// |value| as the type of the specification writes it.
std::string float_digits(double value, const FormatSpec& spec);
void append_number(const Value& value, const FormatSpec& spec, TextBuilder& out);
// Text, cut to the precision and padded; default_align is '<' or '>'.
void append_text_cut(const Text& text, const FormatSpec& spec, char default_align, TextBuilder& out);
// Reads digits from `at` on.
int64_t read_format_number(std::string_view text, size_t& at);

}  // namespace inferens::jinja
