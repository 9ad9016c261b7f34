// "…%s…" % values.
#include <algorithm>
#include <cmath>

#include "text/jinja/format.h"
#include "text/jinja/format_spec.h"
#include "text/jinja/print.h"

namespace inferens::jinja {
namespace {

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
    const bool mapping =
        values_.is_undefined() || values_.is(Kind::kDict) || (values_.is(Kind::kSequence) && !is_tuple_);
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
    return read_format_number(text_, at);
  }

  size_t directive(size_t at) {
    std::optional<Value> value;
    if (at < text_.size() && text_[at] == '(') {
      const size_t end = text_.find(')', at);
      if (end == std::string_view::npos) fail("incomplete format key");
      value = named_value(text_.substr(at + 1, end - at - 1));
      at = end + 1;
    }
    FormatSpec spec;
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

  void convert(const Value& value, FormatSpec spec) {
    switch (spec.type) {
      case 's':
        return append_text_cut(format_.is_markup() ? escape(runtime_, value) : to_text(runtime_, value), spec, '>',
                               out_);
      case 'r':
      case 'a': {
        TextBuilder repr(runtime_.budget());
        append_repr(runtime_, value, repr);
        const Text text = repr.take();
        return append_text_cut(format_.is_markup() ? escape(runtime_, Value(text)) : text, spec, '>', out_);
      }
      case 'c':
        return convert_character(value, spec);
      default:
        return convert_number(value, spec);
    }
  }
  void convert_character(const Value& value, const FormatSpec& spec) {
    if (value.is_text() && value.text().length() == 1) return append_text_cut(value.text(), spec, '>', out_);
    if (!value.is_integral() || value.integer() < 0 || value.integer() > 0x10FFFF) fail("%c requires int or char");
    std::string bytes;
    append_utf8(static_cast<char32_t>(value.integer()), bytes);
    append_text_cut(value.from_input() ? Text::untrusted(bytes) : Text::trusted(bytes), spec, '>', out_);
  }
  void convert_number(Value value, FormatSpec spec) {
    if (value.is_undefined()) fail_undefined(value);
    if (std::string_view("diouxXeEfFgG").find(spec.type) == std::string_view::npos) {
      fail(std::string("unsupported format character '") + spec.type + "'");
    }
    if (!value.is_number())
      fail(std::string("%") + spec.type + " format: a number is required, not " + std::string(type_name(value)));
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

}  // namespace

Text format_percent(Runtime& runtime, const Text& format, const Value& values) {
  return PercentFormatter(runtime, format, values).run();
}

}  // namespace inferens::jinja
