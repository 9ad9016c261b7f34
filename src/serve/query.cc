#include "serve/query.h"

#include <algorithm>
#include <charconv>

namespace inferens {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return {};
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const size_t equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) != name) continue;
    std::string value(pair.substr(std::min(equals + 1, pair.size())));
    std::replace(value.begin(), value.end(), '+', ' ');
    return percent_decoded(value);
  }
  return {};
}

Refusal take_query_number(std::string_view query, const std::string& name, int64_t low, int64_t high, int64_t& value) {
  const std::optional<std::string> text = query_value(query, name);
  if (!text) return {};
  int64_t number = 0;
  const auto end = std::from_chars(text->data(), text->data() + text->size(), number);
  const bool whole = end.ec == std::errc() && end.ptr == text->data() + text->size();
  if (!whole || number < low || number > high) {
    return bad_field(name, "invalid_value", "'" + name + "' must be between " + std::to_string(low) + " and " + std::to_string(high));
  }
  value = number;
  return {};
}

}  // namespace inferens
