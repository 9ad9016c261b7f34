// Formatting. Literal parts and string arguments keep their provenance; numbers count as what they were computed from.
#include "text/jinja/format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "text/jinja/operators.h"
#include "text/jinja/print.h"

namespace inferens::jinja {
namespace {

constexpr int64_t kMaxPrecision = 300;

struct Spec {
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

std::string to_chars_string(double value, std::chars_format format, int64_t precision) {
  std::array<char, 1024> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, static_cast<int>(precision));
  if (result.ec != std::errc()) fail_limit("a number is formatted with too many digits");
  return std::string(buffer.data(), result.ptr);
}

// |value| by a float presentation type.
std::string float_digits(double value, const Spec& spec) {
  const char type = static_cast<char>(spec.type | 0x20);
  const bool upper = spec.type == 'F' || spec.type == 'E' || spec.type == 'G';
  std::string digits;
  if (!std::isfinite(value)) {
    digits = std::isnan(value) ? "nan" : "inf";
  } else if (type == 'f' || type == '%') {
    digits = to_chars_string(spec.type == '%' ? value * 100 : value, std::chars_format::fixed, spec.precision < 0 ? 6 : spec.precision);
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
  if (upper) std::transform(digits.begin(), digits.end(), digits.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return digits;
}

std::string integer_digits(uint64_t value, const Spec& spec) {
  const int base = spec.type == 'x' || spec.type == 'X' ? 16 : spec.type == 'o' ? 8 : spec.type == 'b' ? 2 : 10;
  std::array<char, 72> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, base).ptr;
  std::string digits(buffer.data(), end);
  if (spec.type == 'X') std::transform(digits.begin(), digits.end(), digits.begin(), [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c; });
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
void append_padded(const Text& body, size_t sign_bytes, const Spec& spec, char default_align, TextBuilder& out) {
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

void append_number(const Value& value, const Spec& spec, TextBuilder& out) {
  constexpr std::string_view kIntegerTypes = "dbxXon";
  const bool as_float = value.is(Kind::kFloat) || (spec.type && kIntegerTypes.find(spec.type) == std::string_view::npos);
  bool negative = false;
  std::string digits, prefix;
  if (as_float) {
    negative = std::signbit(value.number()) && !std::isnan(value.number());
    digits = float_digits(std::fabs(value.number()), spec);
  } else {
    negative = value.integer() < 0;
    const auto magnitude = negative ? 0 - static_cast<uint64_t>(value.integer()) : static_cast<uint64_t>(value.integer());
    digits = integer_digits(magnitude, spec);
    if (spec.alternate && spec.type && spec.type != 'd' && spec.type != 'n') prefix = std::string("0") + spec.type;
  }
  if (spec.grouping) digits = group_digits(digits, spec.grouping, !as_float && std::string_view("xXob").find(spec.type) != std::string_view::npos && spec.type ? 4 : 3);
  std::string sign = negative ? "-" : spec.sign == '+' ? "+" : spec.sign == ' ' ? " " : "";
  const bool trusted = !value.from_input();
  const std::string text = sign + prefix + digits;
  append_padded(trusted ? Text::trusted(text) : Text::untrusted(text), sign.size() + prefix.size(), spec, '>', out);
}

void append_text_cut(const Text& text, const Spec& spec, char default_align, TextBuilder& out) {
  Text cut = text;
  if (spec.precision >= 0 && static_cast<size_t>(spec.precision) < text.length()) {
    TextBuilder part(out.budget());
    part.append(text, 0, text.byte_of(static_cast<size_t>(spec.precision)));
    cut = part.take();
  }
  append_padded(cut, 0, spec, default_align, out);
}

int64_t read_number(std::string_view text, size_t& at) {
  int64_t value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    value = value * 10 + (text[at] - '0');
    if (value > static_cast<int64_t>(kMaxTextBytes)) fail_limit("a format width is above 8 MB");
  }
  return value;
}

// ---- "%" ----

class PercentFormatter {
 public:
  PercentFormatter(Runtime& runtime, const Text& format, const Value& values)
      : runtime_(runtime), format_(format), text_(format.view()), values_(values), out_(runtime.budget()) {
    is_tuple_ = values.is(Kind::kSequence) && values.sequence()->kind == SequenceKind::kTuple;
  }

  Text run() {
    for (size_t at = 0; at < text_.size();) {
      if (text_[at] != '%') {
        const size_t end = std::min(text_.find('%', at), text_.size());
        out_.append(format_, at, end);
        at = end;
      } else {
        at = directive(at + 1);
      }
    }
    const bool mapping = values_.is(Kind::kDict) || (values_.is(Kind::kSequence) && !is_tuple_);
    const bool all_used = is_tuple_ ? used_ == values_.sequence()->items.size() : used_ > 0 || mapping;
    if (!all_used) fail("not all arguments converted during string formatting");
    return out_.take().as_markup(format_.is_markup());
  }

 private:
  Value next_value() {
    if (is_tuple_) {
      if (used_ >= values_.sequence()->items.size()) fail("not enough arguments for format string");
      return values_.sequence()->items[used_++];
    }
    if (used_++ > 0) fail("not enough arguments for format string");
    return values_;
  }
  Value named_value(std::string_view name) {
    if (!values_.is(Kind::kDict)) fail("format requires a mapping");
    const Value* found = values_.dict()->find(name);
    if (!found) fail("KeyError: '" + std::string(name) + "'");
    return *found;
  }
  int64_t number_or_star(size_t& at) {
    if (at < text_.size() && text_[at] == '*') {
      ++at;
      const Value value = next_value();
      if (!value.is_integral()) fail("* wants int");
      return value.integer();
    }
    return read_number(text_, at);
  }

  size_t directive(size_t at) {
    std::optional<Value> value;
    if (at < text_.size() && text_[at] == '(') {
      const size_t end = text_.find(')', at);
      if (end == std::string_view::npos) fail("incomplete format key");
      value = named_value(text_.substr(at + 1, end - at - 1));
      at = end + 1;
    }
    Spec spec;
    for (; at < text_.size() && std::string_view("#0- +").find(text_[at]) != std::string_view::npos; ++at) {
      if (text_[at] == '-') spec.align = '<';
      if (text_[at] == '0') spec.zero = true;
      if (text_[at] == '#') spec.alternate = true;
      if (text_[at] == '+' || (text_[at] == ' ' && spec.sign != '+')) spec.sign = text_[at];
    }
    spec.width = number_or_star(at);
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = -spec.width;
    }
    if (at < text_.size() && text_[at] == '.') spec.precision = std::max<int64_t>(0, number_or_star(++at));
    while (at < text_.size() && (text_[at] == 'l' || text_[at] == 'h' || text_[at] == 'L')) ++at;
    if (at >= text_.size()) fail("incomplete format");
    spec.type = text_[at];
    if (spec.type == '%') {
      out_.append("%", format_.trusted_at(at));
    } else {
      convert(value ? *value : next_value(), spec);
    }
    return at + 1;
  }

  void convert(const Value& value, Spec spec) {
    switch (spec.type) {
      case 's': return append_text_cut(format_.is_markup() ? escape(runtime_, value) : to_text(runtime_, value), spec, '>', out_);
      case 'r':
      case 'a': {
        TextBuilder repr(runtime_.budget());
        append_repr(runtime_, value, repr);
        const Text text = repr.take();
        return append_text_cut(format_.is_markup() ? escape(runtime_, Value(text)) : text, spec, '>', out_);
      }
      case 'c': return convert_character(value, spec);
      default: return convert_number(value, spec);
    }
  }
  void convert_character(const Value& value, const Spec& spec) {
    if (value.is_text() && value.text().length() == 1) return append_text_cut(value.text(), spec, '>', out_);
    if (!value.is_integral() || value.integer() < 0 || value.integer() > 0x10FFFF) fail("%c requires int or char");
    std::string bytes;
    append_utf8(static_cast<char32_t>(value.integer()), bytes);
    append_text_cut(value.from_input() ? Text::untrusted(bytes) : Text::trusted(bytes), spec, '>', out_);
  }
  void convert_number(Value value, Spec spec) {
    if (value.is_undefined()) fail_undefined(value);
    if (std::string_view("diouxXeEfFgG").find(spec.type) == std::string_view::npos) {
      fail(std::string("unsupported format character '") + spec.type + "'");
    }
    if (!value.is_number()) fail(std::string("%") + spec.type + " format: a number is required, not " + std::string(type_name(value)));
    if (spec.precision > kMaxPrecision) fail_limit("a number is formatted with too many digits");
    if (spec.zero && !spec.align) {
      spec.fill = "0";
      spec.align = '=';
    }
    const bool integer_type = std::string_view("diouxX").find(spec.type) != std::string_view::npos;
    if (integer_type) {
      if (spec.type == 'i' || spec.type == 'u') spec.type = 'd';
      if (value.is(Kind::kFloat)) {
        const bool decimal = spec.type == 'd';
        if (!decimal || !(std::fabs(value.number()) < 9.2e18)) fail("the number cannot be formatted as an integer");
        value = Value(static_cast<int64_t>(value.number())).marked_input(value.from_input());
      }
      if (spec.precision >= 0) fail_unsupported("a precision on an integer format (%.3d) is not supported");
    }
    append_number(value, spec, out_);
  }

  Runtime& runtime_;
  const Text& format_;
  std::string_view text_;
  const Value& values_;
  bool is_tuple_ = false;
  size_t used_ = 0;
  TextBuilder out_;
};

// ---- "{}" ----

Spec parse_spec(std::string_view text) {
  Spec spec;
  size_t at = 0;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  if (!text.empty()) {
    const size_t first = decode_utf8(text, 0).length;
    if (first < text.size() && is_align(text[first])) {
      spec.fill = std::string(text.substr(0, first));
      spec.align = text[first];
      at = first + 1;
    } else if (is_align(text[0])) {
      spec.align = text[at++];
    }
  }
  if (at < text.size() && (text[at] == '+' || text[at] == '-' || text[at] == ' ')) spec.sign = text[at++];
  if (at < text.size() && text[at] == '#') spec.alternate = ++at > 0;
  if (at < text.size() && text[at] == '0') {
    spec.zero = true;
    ++at;
  }
  spec.width = read_number(text, at);
  if (at < text.size() && (text[at] == ',' || text[at] == '_')) spec.grouping = text[at++];
  if (at < text.size() && text[at] == '.') {
    const size_t digits = ++at;
    spec.precision = read_number(text, at);
    if (at == digits) fail("Format specifier missing precision");
  }
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size()) fail("Invalid format specifier");
  return spec;
}

class BraceFormatter {
 public:
  BraceFormatter(Runtime& runtime, const Text& format, const Arguments& arguments)
      : runtime_(runtime), format_(format), text_(format.view()), arguments_(arguments), out_(runtime.budget()) {}

  Text run() {
    for (size_t at = 0; at < text_.size();) {
      const char c = text_[at];
      if (c != '{' && c != '}') {
        const size_t end = std::min(text_.find_first_of("{}", at), text_.size());
        out_.append(format_, at, end);
        at = end;
      } else if (at + 1 < text_.size() && text_[at + 1] == c) {
        out_.append(format_, at, at + 1);
        at += 2;
      } else {
        if (c == '}') fail("Single '}' encountered in format string");
        at = field(at + 1);
      }
    }
    return out_.take().as_markup(format_.is_markup());
  }

 private:
  size_t field(size_t at) {
    size_t end = at;
    for (int depth = 1; end < text_.size(); ++end) {
      if (text_[end] == '{') ++depth;
      if (text_[end] == '}' && --depth == 0) break;
    }
    if (end >= text_.size()) fail("expected '}' before end of string");
    const std::string_view body = text_.substr(at, end - at);
    size_t name_end = 0;
    for (bool bracket = false; name_end < body.size(); ++name_end) {
      if (body[name_end] == '[') bracket = true;
      if (body[name_end] == ']') bracket = false;
      if (!bracket && (body[name_end] == '!' || body[name_end] == ':')) break;
    }
    Value value = lookup(body.substr(0, name_end));
    std::string_view rest = body.substr(name_end);
    if (rest.starts_with('!')) {
      if (rest.size() < 2) fail("end of string while looking for conversion specifier");
      value = converted(value, rest[1]);
      rest.remove_prefix(2);
    }
    if (rest.starts_with(':')) rest.remove_prefix(1);
    append_value(value, parse_spec(rest.find('{') == std::string_view::npos ? std::string(rest) : nested_spec(rest)), rest.empty());
    return end + 1;
  }
  // A width or precision taken from an argument: "{:{}}".
  std::string nested_spec(std::string_view spec) {
    std::string out;
    for (size_t at = 0; at < spec.size();) {
      if (spec[at] != '{') {
        out += spec[at++];
        continue;
      }
      const size_t end = spec.find('}', at);
      if (end == std::string_view::npos) fail("unmatched '{' in format spec");
      out += to_text(runtime_, lookup(spec.substr(at + 1, end - at - 1))).str();
      at = end + 1;
    }
    return out;
  }
  Value converted(const Value& value, char conversion) {
    if (conversion == 's') return Value(to_text(runtime_, value));
    if (conversion != 'r' && conversion != 'a') fail("Unknown conversion specifier");
    TextBuilder repr(runtime_.budget());
    append_repr(runtime_, value, repr);
    return Value(repr.take());
  }
  Value lookup(std::string_view name) {
    const size_t head_end = std::min(name.find_first_of(".["), name.size());
    Value value = argument(name.substr(0, head_end));
    for (std::string_view rest = name.substr(head_end); !rest.empty();) {
      if (rest[0] == '.') {
        const size_t end = std::min(rest.find_first_of(".[", 1), rest.size());
        value = get_attribute(runtime_, value, rest.substr(1, end - 1));
        rest.remove_prefix(end);
      } else {
        const size_t end = rest.find(']');
        if (rest[0] != '[' || end == std::string_view::npos) fail("Missing ']' in format string");
        const std::string_view key = rest.substr(1, end - 1);
        int64_t index = 0;
        const auto parsed = std::from_chars(key.data(), key.data() + key.size(), index);
        const bool number = parsed.ec == std::errc() && parsed.ptr == key.data() + key.size();
        value = get_item(runtime_, value, number ? Value(index) : Value(Text::trusted(std::string(key))));
        rest.remove_prefix(end + 1);
      }
    }
    return value;
  }
  Value argument(std::string_view name) {
    size_t index = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
    if (name.empty()) {
      index = automatic_++;
      if (manual_) fail("cannot switch from manual field specification to automatic field numbering");
    } else if (parsed.ec == std::errc() && parsed.ptr == name.data() + name.size()) {
      manual_ = true;
      if (automatic_ > 0) fail("cannot switch from automatic field numbering to manual field specification");
    } else {
      for (const auto& [key, value] : arguments_.keyword) {
        if (key.view() == name) return value;
      }
      fail("KeyError: '" + std::string(name) + "'");
    }
    if (index >= arguments_.positional.size()) fail("Replacement index out of range for positional args tuple");
    return arguments_.positional[index];
  }

  void append_value(const Value& value, Spec spec, bool plain) {
    if (plain || value.is(Kind::kBool)) {
      // format(True, "") and str agree; a bool with a spec is an int.
      if (plain) return out_.append(format_.is_markup() ? escape(runtime_, value) : to_text(runtime_, value));
    }
    if (value.is_number()) return append_formatted_number(value, spec);
    if (!value.is_text()) fail("unsupported format string passed to " + std::string(type_name(value)) + ".__format__");
    if (spec.type && spec.type != 's') fail(std::string("Unknown format code '") + spec.type + "' for object of type 'str'");
    if (spec.align == '=') fail("'=' alignment not allowed in string format specifier");
    if (spec.sign != '-' || spec.alternate || spec.grouping) fail("Sign, '#' or ',' not allowed in string format specifier");
    if (spec.zero && !spec.align) {
      spec.fill = "0";
      spec.align = '<';
    }
    append_text_cut(format_.is_markup() ? escape(runtime_, value) : value.text(), spec, '<', out_);
  }
  void append_formatted_number(const Value& value, Spec spec) {
    const std::string_view allowed = value.is(Kind::kFloat) ? "eEfFgG%n" : "bcdoxXneEfFgG%";
    if (spec.type && allowed.find(spec.type) == std::string_view::npos) fail(std::string("Unknown format code '") + spec.type + "'");
    if (spec.type == 'c') fail_unsupported("the format code 'c' is not supported in str.format");
    if (spec.precision > kMaxPrecision) fail_limit("a number is formatted with too many digits");
    const bool integer_type = value.is_integral() && (!spec.type || std::string_view("bdoxXn").find(spec.type) != std::string_view::npos);
    if (integer_type && spec.precision >= 0) fail("Precision not allowed in integer format specifier");
    if (spec.zero && !spec.align) {
      spec.fill = "0";
      spec.align = '=';
    }
    append_number(value, spec, out_);
  }

  Runtime& runtime_;
  const Text& format_;
  std::string_view text_;
  const Arguments& arguments_;
  TextBuilder out_;
  size_t automatic_ = 0;
  bool manual_ = false;
};

}  // namespace

Text format_percent(Runtime& runtime, const Text& format, const Value& values) { return PercentFormatter(runtime, format, values).run(); }

Text format_braces(Runtime& runtime, const Text& format, const Arguments& arguments) {
  return BraceFormatter(runtime, format, arguments).run();
}

std::string fixed_decimals(double value, int decimals) {
  Spec spec;
  spec.type = 'f';
  spec.precision = decimals;
  return (std::signbit(value) ? "-" : "") + float_digits(std::fabs(value), spec);
}

}  // namespace inferens::jinja
