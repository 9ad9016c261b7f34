// Dates for templates that tell the model what day it is.
#include "text/jinja/dates.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace inferens::jinja {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                      "May",       "June",     "July",     "August",
                                                      "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};

// `pad`: '0' or ' ' for a fixed width; with_pad false writes the bare number (%-d).
std::string padded(int64_t value, size_t width, char pad, bool with_pad) {
  std::string digits = std::to_string(value);
  if (with_pad && digits.size() < width) digits.insert(0, width - digits.size(), pad);
  return digits;
}

int iso_week(const std::tm& t) {
  std::array<char, 8> buffer{};
  return std::strftime(buffer.data(), buffer.size(), "%V", &t) ? (buffer[0] - '0') * 10 + (buffer[1] - '0') : 0;
}

std::string directive(char letter, const std::tm& t, int64_t unix_seconds, bool with_pad) {
  const auto two = [&](int value) { return padded(value, 2, '0', with_pad); };
  const auto day = static_cast<size_t>(t.tm_wday), month = static_cast<size_t>(t.tm_mon);
  const int hour12 = t.tm_hour % 12 == 0 ? 12 : t.tm_hour % 12;
  const auto all = [&](std::string_view letters) {
    std::string out;
    for (char c : letters)
      out += std::string_view("/:- ").find(c) != std::string_view::npos ? std::string(1, c)
                                                                        : directive(c, t, unix_seconds, true);
    return out;
  };
  switch (letter) {
    case 'Y':
      return padded(t.tm_year + 1900, 1, '0', with_pad);
    case 'y':
      return two(t.tm_year % 100);
    case 'C':
      return two((t.tm_year + 1900) / 100);
    case 'm':
      return two(t.tm_mon + 1);
    case 'd':
      return two(t.tm_mday);
    case 'e':
      return padded(t.tm_mday, 2, ' ', with_pad);
    case 'H':
      return two(t.tm_hour);
    case 'k':
      return padded(t.tm_hour, 2, ' ', with_pad);
    case 'I':
      return two(hour12);
    case 'l':
      return padded(hour12, 2, ' ', with_pad);
    case 'M':
      return two(t.tm_min);
    case 'S':
      return two(t.tm_sec);
    case 'f':
      return "000000";  // the clock counts whole seconds
    case 'j':
      return padded(t.tm_yday + 1, 3, '0', with_pad);
    case 'p':
      return t.tm_hour < 12 ? "AM" : "PM";
    case 'P':
      return t.tm_hour < 12 ? "am" : "pm";
    case 'A':
      return std::string(kDays[day]);
    case 'a':
      return std::string(kDays[day].substr(0, 3));
    case 'B':
      return std::string(kMonths[month]);
    case 'b':
    case 'h':
      return std::string(kMonths[month].substr(0, 3));
    case 'u':
      return std::to_string(t.tm_wday == 0 ? 7 : t.tm_wday);
    case 'w':
      return std::to_string(t.tm_wday);
    case 'U':
      return two((t.tm_yday + 7 - t.tm_wday) / 7);
    case 'W':
      return two((t.tm_yday + 7 - (t.tm_wday + 6) % 7) / 7);
    case 'V':
      return two(iso_week(t));
    case 's':
      return std::to_string(unix_seconds);
    case 'D':
    case 'x':
      return all("m/d/y");
    case 'F':
      return all("Y-m-d");
    case 'T':
    case 'X':
      return all("H:M:S");
    case 'R':
      return all("H:M");
    case 'r':
      return all("I:M:S p");
    case 'c':
      return all("a b e H:M:S Y");
    case 'n':
      return "\n";
    case 't':
      return "\t";
    case 'z':
    case 'Z':
      return "";  // a naive datetime has no zone
    case '%':
      return "%";
    default:
      fail_unsupported(std::string("strftime_now does not know %") + letter);
  }
}

}  // namespace

Text format_date(Budget& budget, const Text& format, int64_t unix_seconds) {
  const auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm t{};
  if (!localtime_r(&seconds, &t)) fail("the clock's time has no date");
  TextBuilder out(budget);
  const std::string_view text = format.view();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%' || i + 1 >= text.size()) {
      out.append(format, i, i + 1);
      continue;
    }
    const bool bare = text[i + 1] == '-' && i + 2 < text.size();
    i += bare ? 2 : 1;
    out.append(directive(text[i], t, unix_seconds, !bare), format.trusted_at(i));
  }
  return out.take();
}

}  // namespace inferens::jinja
