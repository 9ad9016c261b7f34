#include "serve/time_text.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>

namespace inferens {

namespace ch = std::chrono;

std::string rfc3339(int64_t unix_seconds) {
  const ch::sys_seconds time{ch::seconds(unix_seconds)};
  const ch::sys_days day = ch::floor<ch::days>(time);
  const ch::year_month_day date(day);
  const ch::hh_mm_ss clock(time - day);
  std::array<char, 40> text;
  const int length = std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ", int(date.year()), unsigned(date.month()),
                                   unsigned(date.day()), int(clock.hours().count()), int(clock.minutes().count()), int(clock.seconds().count()));
  return {text.data(), static_cast<size_t>(length)};
}

std::optional<int64_t> parse_rfc3339(std::string_view text) {
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() <= kShape.size() || text.back() != 'Z') return {};
  std::array<int, 6> parts{};
  size_t part = 0;
  for (size_t i = 0; i < kShape.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == 'd' ? !digit : text[i] != kShape[i]) return {};
    if (digit) parts[part] = parts[part] * 10 + (text[i] - '0');
    else ++part;
  }
  std::string_view fraction = text.substr(kShape.size(), text.size() - kShape.size() - 1);
  if (!fraction.empty() && (fraction.front() != '.' || fraction.size() < 2 || fraction.find_first_not_of("0123456789", 1) != std::string_view::npos)) return {};
  const ch::year_month_day date(ch::year(parts[0]), ch::month(static_cast<unsigned>(parts[1])), ch::day(static_cast<unsigned>(parts[2])));
  if (!date.ok() || parts[3] > 23 || parts[4] > 59 || parts[5] > 59) return {};
  const auto time = ch::sys_days(date) + ch::hours(parts[3]) + ch::minutes(parts[4]) + ch::seconds(parts[5]);
  return ch::duration_cast<ch::seconds>(time.time_since_epoch()).count();
}

}  // namespace inferens
