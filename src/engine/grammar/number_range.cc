#include "engine/grammar/number_range.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

namespace inferens {
namespace {

// Two decimals of this many digits are different doubles, so a bound that is excluded cannot come back by rounding.
constexpr size_t kExactDigits = 15;
constexpr size_t kLongestWhole = 19;
// Digits of a number without an upper bound.
constexpr size_t kMostWholeDigits = 30;

std::string digits(size_t least, size_t most) {
  return "[0-9]{" + std::to_string(least) + "," + std::to_string(most) + "}";
}

// Of magnitudes, not negative. Which is the larger: < 0, 0, > 0 as a - b.
int compare(const Decimal& a, const Decimal& b) {
  if (a.whole.size() != b.whole.size()) return a.whole.size() < b.whole.size() ? -1 : 1;
  if (const int c = a.whole.compare(b.whole); c != 0) return c;
  return a.fraction.compare(b.fraction);
}

// Magnitudes whose whole part has one length: an automaton over digits that knows whether all so far equal the bound's.
class Digits {
 public:
  // low, high: with whole parts of this length, or absent for no bound within it.
  Digits(size_t whole, size_t fraction, const Decimal* low, bool low_open, const Decimal* high, bool high_open)
      : whole_(whole), all_(whole + fraction), low_open_(low_open), high_open_(high_open) {
    if (low != nullptr) low_ = padded(*low);
    if (high != nullptr) high_ = padded(*high);
  }

  // Empty optional: nothing is in range.
  std::optional<std::string> ebnf() const { return rest(0, !low_.empty(), !high_.empty()); }

 private:
  std::string padded(const Decimal& d) const {
    std::string text = d.whole + d.fraction;
    text.resize(all_, '0');
    return text;
  }
  static bool zeros_from(const std::string& text, size_t at) {
    return text.find_first_not_of('0', at) == std::string::npos;
  }

  bool may_end(size_t at, bool low, bool high) const {
    if (at < whole_) return false;
    if (low && !(zeros_from(low_, at) && !low_open_)) return false;
    if (high && zeros_from(high_, at) && high_open_) return false;
    return true;
  }

  std::string free_rest(size_t at) const {
    const std::string fraction = all_ > whole_ ? "(\".\" " + digits(1, all_ - whole_) + ")?" : "";
    if (at > whole_) return digits(0, all_ - at);
    if (at == whole_) return fraction.empty() ? "\"\"" : fraction;
    return digits(whole_ - at, whole_ - at) + (fraction.empty() ? "" : " " + fraction);
  }

  // What may follow after `at` digits that all equal those of the bounds still followed. As deep as there are digits.
  std::optional<std::string> rest(size_t at, bool low, bool high) const {
    if (!low && !high) return free_rest(at);
    std::vector<std::string> ways;
    if (at < all_) {
      const char from = low ? low_[at] : at == 0 && whole_ > 1 ? '1' : '0';
      const char to = high ? high_[at] : '9';
      const std::string point = at == whole_ ? "\".\" " : "";
      const auto add = [&](char first, char last, bool l, bool h) {
        if (first > last) return;
        const std::optional<std::string> then = rest(at + 1, l, h);
        if (!then) return;
        const std::string set =
            first == last ? std::string("\"") + first + "\"" : std::string("[") + first + "-" + last + "]";
        ways.push_back(point + set + (*then == "\"\"" ? "" : " (" + *then + ")"));
      };
      if (low && high && from == to) {
        add(from, to, true, true);
      } else {
        if (low) add(from, from, true, false);
        add(static_cast<char>(from + (low ? 1 : 0)), static_cast<char>(to - (high ? 1 : 0)), false, false);
        if (high) add(to, to, false, true);
      }
    }
    if (may_end(at, low, high)) ways.emplace_back("\"\"");
    if (ways.empty()) return std::nullopt;
    std::string out;
    for (const std::string& way : ways) out += (out.empty() ? "" : " | ") + way;
    return out;
  }

  size_t whole_;
  size_t all_;
  bool low_open_, high_open_;
  std::string low_, high_;
};

struct Magnitudes {
  Decimal low;
  bool low_open = false;
  std::optional<Decimal> high;
  bool high_open = false;
};

void add_magnitudes(const Magnitudes& m, bool integer, const std::string& sign, std::vector<std::string>& ways) {
  if (m.high && compare(m.low, *m.high) > 0) return;
  const size_t longest = m.high ? m.high->whole.size() : m.low.whole.size();
  for (size_t length = m.low.whole.size(); length <= longest; ++length) {
    Decimal least, most;  // of this length
    least.whole = length == 1 ? "0" : "1" + std::string(length - 1, '0');
    most.whole = std::string(length, '9');
    const bool at_low = length == m.low.whole.size();
    const bool at_high = m.high && length == longest;
    size_t fraction = integer || length > kExactDigits ? 0 : std::max<size_t>(1, kExactDigits - length);
    if (at_low) fraction = std::max(fraction, m.low.fraction.size());
    if (at_high) fraction = std::max(fraction, m.high->fraction.size());
    const Digits set(length, fraction, at_low ? &m.low : &least, at_low && m.low_open, at_high ? &*m.high : nullptr,
                     at_high && m.high_open);
    if (const auto ebnf = set.ebnf()) ways.push_back(sign + "(" + *ebnf + ")");
  }
  if (!m.high && longest < kMostWholeDigits) {
    ways.push_back(sign + "[1-9] " + digits(longest, kMostWholeDigits - 1));
  }
}

}  // namespace

Decimal Decimal::of(uint64_t value) {
  Decimal d;
  d.whole = std::to_string(value);
  return d;
}

Decimal Decimal::of(int64_t value) {
  Decimal d = of(value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
  d.negative = value < 0;
  return d;
}

Decimal Decimal::of(double value) {
  std::array<char, 1200> text;  // the longest is the smallest double, with 1074 digits after the point
  const double magnitude = value < 0 ? -value : value;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), magnitude, std::chars_format::fixed);
  const std::string_view written(text.data(), static_cast<size_t>(end.ptr - text.data()));
  Decimal d;
  const size_t point = written.find('.');
  d.whole = written.substr(0, point);
  if (point != std::string_view::npos) d.fraction = written.substr(point + 1);
  while (!d.fraction.empty() && d.fraction.back() == '0') d.fraction.pop_back();
  d.negative = value < 0;
  return d;
}

StatusOr<std::string> number_range_to_ebnf(const NumberRange& range) {
  for (const auto& [bound, open] : {std::pair(&range.low, range.low_open), std::pair(&range.high, range.high_open)}) {
    if (!*bound) continue;
    const size_t length = (*bound)->whole.size() + (*bound)->fraction.size();
    const size_t limit = range.integer ? kLongestWhole : open ? kExactDigits : kExactDigits + 3;
    if (length > limit)
      return invalid_argument("a bound of " + std::to_string(length) + " digits cannot be kept exactly");
  }
  std::vector<std::string> ways;
  const bool has_negative = !range.low || range.low->negative;
  const bool has_positive = !range.high || !range.high->negative;
  if (has_negative) {
    Magnitudes m;
    m.low_open = true;  // no "-0"
    if (range.high && range.high->negative) m.low = *range.high, m.low_open = range.high_open;
    if (range.low) m.high = range.low, m.high_open = range.low_open;
    add_magnitudes(m, range.integer, "\"-\" ", ways);
  }
  if (has_positive) {
    Magnitudes m;
    if (range.low && !range.low->negative) m.low = *range.low, m.low_open = range.low_open;
    m.high = range.high;
    m.high_open = range.high_open;
    add_magnitudes(m, range.integer, "", ways);
  }
  if (ways.empty()) return invalid_argument("no number lies between its bounds");
  std::string out;
  for (const std::string& way : ways) out += (out.empty() ? "" : " | ") + way;
  return out;
}

}  // namespace inferens
