// Number parsing: surrounding spaces, signs, single underscores between digits, base prefixes.
#include "text/jinja/numbers.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "base/utf8.h"
#include "text/jinja/characters.h"
#include "text/jinja/failure.h"

namespace inferens::jinja {
namespace {

bool is_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Decimal digits of every script as 0 to 9. Unicode keeps each script's ten digits together and in order.
std::string ascii_digits(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    if (point.value >= 0x80 && is_decimal(point.value)) {
      char32_t first = point.value;
      while (is_decimal(first - 1)) --first;
      out += static_cast<char>('0' + (point.value - first) % 10);
    } else {
      out += text.substr(at, point.length);
    }
    at += point.length;
  }
  return out;
}

// Removes underscores that stand between digits; nullopt when one stands elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
    } else if (i == 0 || i + 1 == text.size() || !is_alnum(text[i - 1]) || !is_alnum(text[i + 1])) {
      return std::nullopt;
    }
  }
  return out;
}

std::string lower_ascii(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text;
}

}  // namespace

std::optional<int64_t> parse_int(std::string_view text, int64_t base) {
  if (base != 0 && (base < 2 || base > 36)) return std::nullopt;
  const std::string ascii = ascii_digits(strip_left(strip_right(text)));
  text = ascii;
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const char letter = text.size() > 1 && text[0] == '0' ? static_cast<char>(text[1] | 0x20) : '\0';
  const int64_t named = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
  if (named != 0 && (base == 0 || base == named)) {
    text.remove_prefix(2);
    if (text.starts_with('_')) text.remove_prefix(1);
    base = named;
  }
  const auto digits = without_underscores(text);
  if (!digits || digits->empty() || !is_alnum((*digits)[0])) return std::nullopt;
  if (base == 0) {
    if ((*digits)[0] == '0' && digits->find_first_not_of('0') != std::string::npos) return std::nullopt;
    base = 10;
  }
  const std::string signed_digits = (negative ? "-" : "") + *digits;
  int64_t value = 0;
  const char* end = signed_digits.data() + signed_digits.size();
  const auto parsed = std::from_chars(signed_digits.data(), end, value, static_cast<int>(base));
  if (parsed.ptr != end) return std::nullopt;
  if (parsed.ec == std::errc::result_out_of_range)
    fail_unsupported("the integer " + signed_digits.substr(0, 40) + " does not fit in 64 bits");
  return value;
}

std::optional<double> parse_double(std::string_view text) {
  const auto plain = without_underscores(ascii_digits(strip_left(strip_right(text))));
  if (!plain || plain->empty()) return std::nullopt;
  std::string digits = lower_ascii(*plain);
  const bool negative = digits[0] == '-';
  if (negative || digits[0] == '+') digits.erase(0, 1);
  if (digits == "inf" || digits == "infinity")
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  if (digits == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (digits.empty() || !((digits[0] >= '0' && digits[0] <= '9') || digits[0] == '.')) return std::nullopt;
  double value = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, value);
  if (parsed.ptr != end) return std::nullopt;
  if (parsed.ec == std::errc::result_out_of_range) {
    // from_chars says only that it is out of range; the exponent's sign says on which side.
    const size_t exponent = digits.find("e-");
    value = exponent == std::string::npos ? std::numeric_limits<double>::infinity() : 0.0;
  }
  return negative ? -value : value;
}

}  // namespace inferens::jinja
