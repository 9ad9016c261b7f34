// Filters that make or change numbers. What is computed from the conversation stays marked as such.
#include <array>
#include <charconv>
#include <cmath>

#include "text/jinja/filters.h"
#include "text/jinja/format.h"
#include "text/jinja/numbers.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"

namespace inferens::jinja {
namespace {

bool comes_from_input(const Value& value) {
  if (!value.is_text()) return value.from_input();
  for (const Text::Run& run : value.text().runs()) {
    if (!run.trusted) return true;
  }
  return false;
}

Value abs_filter(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("abs", {});
  if (value.is_undefined()) fail_undefined(value);
  if (!value.is_number()) fail("bad operand type for abs(): '" + std::string(type_name(value)) + "'");
  if (value.is(Kind::kFloat)) return Value(std::fabs(value.number())).marked_input(value.from_input());
  return unary(r, value.integer() < 0 ? Operator::kNeg : Operator::kPos, value);
}

// float(value); nullopt: TypeError or ValueError.
std::optional<double> to_double(const Value& value) {
  if (value.is_undefined()) fail_undefined(value);
  if (value.is_number()) return value.number();
  if (value.is_text()) return parse_double(value.text().view());
  return std::nullopt;
}

std::optional<int64_t> truncated(double value) {
  if (std::isnan(value) || std::isinf(value)) return std::nullopt;
  if (std::fabs(value) >= 9.2e18) fail_unsupported("the integer does not fit in 64 bits");
  return static_cast<int64_t>(value);
}

Value int_filter(Runtime&, const Value& value, const Arguments& a) {
  const auto args = a.bind("int", {{"default", Value(0)}, {"base", Value(10)}});
  const bool input = comes_from_input(value);
  if (value.is_integral()) return Value(value.integer()).marked_input(input);
  if (value.is(Kind::kFloat) && std::isinf(value.number())) fail("cannot convert float infinity to integer");
  if (value.is_text()) {
    if (!args[1].is_integral()) fail("int: base must be an integer");
    if (const auto parsed = parse_int(value.text().view(), args[1].integer()))
      return Value(*parsed).marked_input(input);
  }
  const auto number = to_double(value);
  const auto whole = number ? truncated(*number) : std::nullopt;
  return whole ? Value(*whole).marked_input(input) : args[0];
}

Value float_filter(Runtime&, const Value& value, const Arguments& a) {
  const Value otherwise = a.bind("float", {{"default", Value(0.0)}})[0];
  const auto number = to_double(value);
  return number ? Value(*number).marked_input(comes_from_input(value)) : otherwise;
}

// round(integer, precision) for a negative precision: to a power of ten, half to even.
int64_t round_integer(int64_t value, int64_t precision) {
  int64_t unit = 1;
  for (; precision < 0; ++precision) {
    if (unit > INT64_MAX / 10) return 0;
    unit *= 10;
  }
  const int64_t rest = ((value % unit) + unit) % unit, down = value - rest;
  const bool up = rest > unit - rest || (rest == unit - rest && (down / unit) % 2 != 0);
  return up ? down + unit : down;
}

double round_double(double value, int64_t precision) {
  if (!std::isfinite(value) || precision > 22) return value;
  if (precision < -308) return std::copysign(0.0, value);
  if (precision < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-precision));
    return std::nearbyint(value / unit) * unit;
  }
  const std::string digits = fixed_decimals(value, static_cast<int>(precision));
  double result = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), result);
  return result;
}

Value round_filter(Runtime&, const Value& value, const Arguments& a) {
  const auto args = a.bind("round", {{"precision", Value(0)}, {"method", Value(Text::trusted("common"))}});
  if (!args[1].is_text()) fail("round: method must be common, ceil or floor");
  const std::string_view method = args[1].text().view();
  if (method != "common" && method != "ceil" && method != "floor") fail("method must be common, ceil or floor");
  if (value.is_undefined()) fail_undefined(value);
  if (!value.is_number()) fail("round: a number is required, not " + std::string(type_name(value)));
  if (!args[0].is_integral()) fail("round: precision must be an integer");
  const int64_t precision = args[0].integer();
  const bool input = value.from_input();
  if (method == "common") {
    if (value.is(Kind::kFloat)) return Value(round_double(value.number(), precision)).marked_input(input);
    return Value(precision >= 0 ? value.integer() : round_integer(value.integer(), precision)).marked_input(input);
  }
  const double unit = std::pow(10.0, static_cast<double>(precision));
  const double scaled = value.number() * unit;
  if (!std::isfinite(scaled)) fail("cannot convert float infinity or NaN to integer");
  return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit).marked_input(input);
}

Value filesizeformat(Runtime& r, const Value& value, const Arguments& a) {
  const bool binary = truthy(r, a.bind("filesizeformat", {{"binary", Value(false)}})[0]);
  const auto number = to_double(value);
  if (!number) fail("filesizeformat needs a number");
  const double base = binary ? 1024 : 1000, bytes = *number;
  const auto text = [&](const std::string& s) {
    return Value(comes_from_input(value) ? Text::untrusted(s) : Text::trusted(s));
  };
  if (bytes == 1) return text("1 Byte");
  if (bytes < base) {
    const auto whole = truncated(bytes);
    if (!whole) fail("cannot convert float to integer");
    return text(std::to_string(*whole) + " Bytes");
  }
  static constexpr std::string_view kPrefixes = "kMGTPEZY";
  double unit = base;
  for (size_t i = 0; i < kPrefixes.size(); ++i) {
    unit *= base;
    if (bytes >= unit && i + 1 < kPrefixes.size()) continue;
    std::string prefix(1, binary && i == 0 ? 'K' : kPrefixes[i]);
    return text(fixed_decimals(base * bytes / unit, 1) + " " + prefix + (binary ? "iB" : "B"));
  }
  return Value();
}

constexpr std::array<Filter, 5> kFilters = {{{"abs", abs_filter},
                                             {"filesizeformat", filesizeformat},
                                             {"float", float_filter},
                                             {"int", int_filter},
                                             {"round", round_filter}}};

}  // namespace

std::span<const Filter> number_filters() {
  return kFilters;
}

}  // namespace inferens::jinja
