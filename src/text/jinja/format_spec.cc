// Numbers and padding for both formatting languages. Numbers count as what they were computed from.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "text/jinja/format.h"
#include "text/jinja/format_spec.h"
#include "text/jinja/print.h"

namespace inferens::jinja {
namespace {

std::string to_chars_string(double value, std::chars_format format, int64_t precision) {
  std::array<char, 1024> buffer{};
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, static_cast<int>(precision));
  if (result.ec != std::errc()) fail_limit("a number is formatted with too many digits");
  return std::string(buffer.data(), result.ptr);
}

}  // namespace

std::string float_digits(double value, const FormatSpec& spec) {
  const char type = static_cast<char>(spec.type | 0x20);
  const bool upper = spec.type == 'F' || spec.type == 'E' || spec.type == 'G';
  std::string digits;
  if (!std::isfinite(value)) {
    digits = std::isnan(value) ? "nan" : "inf";
  } else if (type == 'f' || type == '%') {
    digits = to_chars_string(spec.type == '%' ? value * 100 : value, std::chars_format::fixed,
                             spec.precision < 0 ? 6 : spec.precision);
  } else if (type == 'e') {
    digits = to_chars_string(value, std::chars_format::scientific, spec.precision < 0 ? 6 : spec.precision);
  } else if (type == 'g' || spec.precision >= 0) {
    const int64_t precision = spec.precision < 0 ? 6 : std::max<int64_t>(spec.precision, 1);
    digits = to_chars_string(value, std::chars_format::general, precision);
    if (type != 'g' && digits.find_first_of(".e") == std::string::npos) digits += ".0";
  } else {
    digits = float_repr(value);
  }
  if (spec.type == '%') digits += '%';
  if (upper)
    std::transform(digits.begin(), digits.end(), digits.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return digits;
}

namespace {

std::string integer_digits(uint64_t value, const FormatSpec& spec) {
  const int base = spec.type == 'x' || spec.type == 'X' ? 16 : spec.type == 'o' ? 8 : spec.type == 'b' ? 2 : 10;
  std::array<char, 72> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, base).ptr;
  std::string digits(buffer.data(), end);
  if (spec.type == 'X')
    std::transform(digits.begin(), digits.end(), digits.begin(),
                   [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c; });
  return digits;
}

std::string group_digits(const std::string& digits, char separator, size_t every) {
  size_t whole = digits.find_first_not_of("0123456789abcdefABCDEF");
  if (whole == std::string::npos) whole = digits.size();
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && i < whole && (whole - i) % every == 0) out += separator;
    out += digits[i];
  }
  return out;
}

// Puts fill around `body` (or between sign and digits for '=') up to the width.
void append_padded(const Text& body, size_t sign_bytes, const FormatSpec& spec, char default_align, TextBuilder& out) {
  const auto length = static_cast<int64_t>(body.length());
  const auto pad = static_cast<uint64_t>(std::max<int64_t>(0, spec.width - length));
  const char align = spec.align ? spec.align : default_align;
  const Text fill = Text::untrusted(spec.fill);
  const uint64_t left = align == '<' ? 0 : align == '^' ? pad / 2 : pad;
  if (align == '=') out.append(body, 0, sign_bytes);
  out.append_repeated(fill, left);
  out.append(body, align == '=' ? sign_bytes : 0, body.size());
  out.append_repeated(fill, pad - left);
}

}  // namespace

void append_number(const Value& value, const FormatSpec& spec, TextBuilder& out) {
  constexpr std::string_view kIntegerTypes = "dbxXon";
  const bool as_float =
      value.is(Kind::kFloat) || (spec.type && kIntegerTypes.find(spec.type) == std::string_view::npos);
  bool negative = false;
  std::string digits, prefix;
  if (as_float) {
    negative = std::signbit(value.number()) && !std::isnan(value.number());
    digits = float_digits(std::fabs(value.number()), spec);
  } else {
    negative = value.integer() < 0;
    const auto magnitude =
        negative ? 0 - static_cast<uint64_t>(value.integer()) : static_cast<uint64_t>(value.integer());
    digits = integer_digits(magnitude, spec);
    if (spec.alternate && spec.type && spec.type != 'd' && spec.type != 'n') prefix = std::string("0") + spec.type;
  }
  if (spec.grouping)
    digits = group_digits(
        digits, spec.grouping,
        !as_float && std::string_view("xXob").find(spec.type) != std::string_view::npos && spec.type ? 4 : 3);
  std::string sign = negative ? "-" : spec.sign == '+' ? "+" : spec.sign == ' ' ? " " : "";
  const bool trusted = !value.from_input();
  const std::string text = sign + prefix + digits;
  append_padded(trusted ? Text::trusted(text) : Text::untrusted(text), sign.size() + prefix.size(), spec, '>', out);
}

void append_text_cut(const Text& text, const FormatSpec& spec, char default_align, TextBuilder& out) {
  Text cut = text;
  if (spec.precision >= 0 && static_cast<size_t>(spec.precision) < text.length()) {
    TextBuilder part(out.budget());
    part.append(text, 0, text.byte_of(static_cast<size_t>(spec.precision)));
    cut = part.take();
  }
  append_padded(cut, 0, spec, default_align, out);
}

int64_t read_format_number(std::string_view text, size_t& at) {
  int64_t value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    value = value * 10 + (text[at] - '0');
    if (value > static_cast<int64_t>(kMaxTextBytes)) fail_limit("a format width is above 8 MB");
  }
  return value;
}

std::string fixed_decimals(double value, int decimals) {
  FormatSpec spec;
  spec.type = 'f';
  spec.precision = decimals;
  return (std::signbit(value) ? "-" : "") + float_digits(std::fabs(value), spec);
}

}  // namespace inferens::jinja
