// "…{}…".format(values).
#include <algorithm>
#include <charconv>

#include "text/jinja/format.h"
#include "text/jinja/format_spec.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"

namespace inferens::jinja {
namespace {

FormatSpec parse_spec(std::string_view text) {
  FormatSpec spec;
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
  spec.width = read_format_number(text, at);
  if (at < text.size() && (text[at] == ',' || text[at] == '_')) spec.grouping = text[at++];
  if (at < text.size() && text[at] == '.') {
    const size_t digits = ++at;
    spec.precision = read_format_number(text, at);
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
    append_value(value, parse_spec(rest.find('{') == std::string_view::npos ? std::string(rest) : nested_spec(rest)),
                 rest.empty());
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

  void append_value(const Value& value, FormatSpec spec, bool plain) {
    if (plain || value.is(Kind::kBool)) {
      // format(True, "") and str agree; a bool with a spec is an int.
      if (plain) return out_.append(format_.is_markup() ? escape(runtime_, value) : to_text(runtime_, value));
    }
    if (value.is_number()) return append_formatted_number(value, spec);
    if (!value.is_text()) fail("unsupported format string passed to " + std::string(type_name(value)) + ".__format__");
    if (spec.type && spec.type != 's')
      fail(std::string("Unknown format code '") + spec.type + "' for object of type 'str'");
    if (spec.align == '=') fail("'=' alignment not allowed in string format specifier");
    if (spec.sign != '-' || spec.alternate || spec.grouping)
      fail("Sign, '#' or ',' not allowed in string format specifier");
    if (spec.zero && !spec.align) {
      spec.fill = "0";
      spec.align = '<';
    }
    append_text_cut(format_.is_markup() ? escape(runtime_, value) : value.text(), spec, '<', out_);
  }
  void append_formatted_number(const Value& value, FormatSpec spec) {
    const std::string_view allowed = value.is(Kind::kFloat) ? "eEfFgG%n" : "bcdoxXneEfFgG%";
    if (spec.type && allowed.find(spec.type) == std::string_view::npos)
      fail(std::string("Unknown format code '") + spec.type + "'");
    if (spec.type == 'c') fail_unsupported("the format code 'c' is not supported in str.format");
    if (spec.precision > kMaxPrecision) fail_limit("a number is formatted with too many digits");
    const bool integer_type =
        value.is_integral() && (!spec.type || std::string_view("bdoxXn").find(spec.type) != std::string_view::npos);
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

Text format_braces(Runtime& runtime, const Text& format, const Arguments& arguments) {
  return BraceFormatter(runtime, format, arguments).run();
}

}  // namespace inferens::jinja
