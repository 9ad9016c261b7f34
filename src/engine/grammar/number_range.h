// Decimal numbers between bounds as a grammar: digit by digit, so the bounds are exact.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "inferens/status.h"

namespace inferens {

// A finite decimal number: no leading zeros but for a single one, no trailing zeros in the fraction.
struct Decimal {
  bool negative = false;
  std::string whole = "0";
  std::string fraction;

  static Decimal of(int64_t value);
  static Decimal of(uint64_t value);
  static Decimal of(double value);  // finite; the shortest text that reads as this value
  bool zero() const { return whole == "0" && fraction.empty(); }
};

struct NumberRange {
  std::optional<Decimal> low, high;
  bool low_open = false, high_open = false;  // the bound itself is outside
  bool integer = false;
};

// The body of a rule that takes exactly the JSON texts of the range's numbers, without exponents and with at most as
// many digits as a double tells apart. invalid_argument: the range is empty, or its bounds have more digits than that.
StatusOr<std::string> number_range_to_ebnf(const NumberRange& range);

}  // namespace inferens
