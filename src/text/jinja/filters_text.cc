// Filters that work on text.
#include <algorithm>
#include <array>

#include "text/jinja/attribute_path.h"
#include "text/jinja/characters.h"
#include "text/jinja/filters.h"
#include "text/jinja/format.h"
#include "text/jinja/methods.h"
#include "text/jinja/print.h"
#include "text/jinja/wrap.h"

namespace inferens::jinja {
namespace {

template <Case kWanted>
Value cased(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("filter", {});
  return Value(change_case(r, soft_text(r, value), kWanted));
}

// A word starts after a space, a hyphen or an opening bracket.
Value title(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("title", {});
  const Text text = soft_text(r, value);
  const auto separates = [](char32_t c) {
    return is_space(c) || c == U'-' || c == U'(' || c == U'{' || c == U'[' || c == U'<';
  };
  TextBuilder out(r.budget());
  const auto append_word = [&](size_t begin, size_t end) {
    if (begin == end) return;
    const size_t first = begin + decode_utf8(text.view(), begin).length;
    out.append(change_case(r, slice_text(r, text, begin, first), Case::kUpper));
    out.append(change_case(r, slice_text(r, text, first, end), Case::kLower));
  };
  size_t word = 0;
  for_each_character(text.view(), [&](const Character& c) {
    if (!separates(c.value)) return;
    append_word(word, c.begin);
    out.append(text, c.begin, c.end);
    word = c.end;
  });
  append_word(word, text.size());
  return Value(out.take());
}

Value trim(Runtime& r, const Value& value, const Arguments& a) {
  return Value(strip_text(r, soft_text(r, value), a.bind("trim", {{"chars", Value()}})[0], true, true));
}

Value center(Runtime& r, const Value& value, const Arguments& a) {
  Arguments width;
  width.positional = a.bind("center", {{"width", Value(80)}});
  return find_string_method("center")(r, Value(soft_text(r, value)), width);
}

Value string(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("string", {});
  return Value(soft_text(r, value));
}

Value replace(Runtime& r, const Value& value, const Arguments& a) {
  const auto args = a.bind("replace", {{"old"}, {"new"}, {"count", Value()}});
  const int64_t count = args[2].is_none() ? -1 : integer_argument(args[2]);
  if (!r.autoescape())
    return Value(replace_text(r, to_text(r, value), to_text(r, args[0]), to_text(r, args[1]), count));
  const auto is_markup = [](const Value& v) { return v.is_text() && v.text().is_markup(); };
  const bool escape_first = is_markup(args[0]) || (is_markup(args[1]) && !is_markup(value));
  const Text text = escape_first ? escape(r, value) : soft_text(r, value);
  const Text to = text.is_markup() ? escape(r, args[1]) : soft_text(r, args[1]);
  return Value(replace_text(r, text, soft_text(r, args[0]), to, count).as_markup(text.is_markup()));
}

Value format(Runtime& r, const Value& value, const Arguments& a) {
  if (!a.positional.empty() && !a.keyword.empty())
    fail("can't handle positional and keyword arguments at the same time");
  const Text text = soft_text(r, value);
  if (a.keyword.empty()) return Value(format_percent(r, text, make_tuple(r.budget(), a.positional)));
  DictBuilder named(r.budget());
  for (const auto& [key, argument] : a.keyword) named.set(Value(key), argument);
  return Value(format_percent(r, text, Value(named.take())));
}

Value join(Runtime& r, const Value& value, const Arguments& a) {
  const auto args = a.bind("join", {{"d", Value(Text())}, {"attribute", Value()}});
  const AttributePath path(r, args[1]);
  std::vector<Value> items = collect(r, value);
  bool markup = r.autoescape() && args[0].is_text() && args[0].text().is_markup();
  for (Value& item : items) {
    item = path.get(item);
    markup = markup || (r.autoescape() && item.is_text() && item.text().is_markup());
  }
  std::vector<Text> parts;
  for (const Value& item : items) parts.push_back(markup ? escape(r, item) : to_text(r, item));
  const Text separator = markup ? escape(r, args[0]) : to_text(r, args[0]);
  return Value(join_texts(r, separator, parts).as_markup(markup));
}

Value indent(Runtime& r, const Value& value, const Arguments& a) {
  const auto args = a.bind("indent", {{"width", Value(4)}, {"first", Value(false)}, {"blank", Value(false)}});
  const Text& text = text_argument(value);
  Text indentation;
  if (args[0].is_text()) {
    indentation = text.is_markup() ? escape(r, args[0]) : args[0].text();
  } else {
    TextBuilder spaces(r.budget());
    spaces.append_repeated(Text::untrusted(" "),
                           static_cast<uint64_t>(std::max<int64_t>(0, integer_argument(args[0]))));
    indentation = spaces.take();
  }
  TextBuilder with_newline(r.budget());
  with_newline.append(text);
  with_newline.append("\n", false);
  const std::vector<Text> lines = split_lines(r, with_newline.take(), false);
  TextBuilder out(r.budget());
  if (truthy(r, args[1])) out.append(indentation);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out.append("\n", false);
    if (i > 0 && (truthy(r, args[2]) || !lines[i].empty())) out.append(indentation);
    out.append(lines[i]);
  }
  return Value(out.take().as_markup(text.is_markup()));
}

Value truncate(Runtime& r, const Value& value, const Arguments& a) {
  const auto args = a.bind("truncate", {{"length", Value(255)},
                                        {"killwords", Value(false)},
                                        {"end", Value(Text::untrusted("..."))},
                                        {"leeway", Value(5)}});
  const Text& end = text_argument(args[2]);
  const int64_t length = integer_argument(args[0]), end_length = static_cast<int64_t>(end.length());
  const int64_t leeway = args[3].is_none() ? 5 : integer_argument(args[3]);
  if (length < end_length) fail("expected length >= " + std::to_string(end_length) + ", got " + std::to_string(length));
  if (leeway < 0) fail("expected leeway >= 0");
  if (value.is_undefined()) return value;
  const auto size = length_of(r, value);
  if (size && *size - leeway <= length) return value;
  const Text& text = text_argument(value);
  size_t cut = text.byte_of(static_cast<size_t>(length - end_length));
  if (!truthy(r, args[1])) {
    const size_t space = text.view().substr(0, cut).rfind(' ');
    if (space != std::string_view::npos) cut = space;
  }
  TextBuilder out(r.budget());
  out.append(text, 0, cut);
  out.append(text.is_markup() ? escape(r, args[2]) : end);
  return Value(out.take().as_markup(text.is_markup()));
}

Value wordcount(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("wordcount", {});
  int64_t words = 0;
  bool inside = false;
  const Text text = soft_text(r, value);
  for_each_character(text.view(), [&](const Character& c) {
    const bool word = is_word(c.value);
    words += word && !inside ? 1 : 0;
    inside = word;
  });
  return Value(words);
}

Value wordwrap(Runtime& r, const Value& value, const Arguments& a) {
  const auto args = a.bind("wordwrap", {{"width", Value(79)},
                                        {"break_long_words", Value(true)},
                                        {"wrapstring", Value()},
                                        {"break_on_hyphens", Value(true)}});
  const Text newline = args[2].is_none() ? Text::untrusted("\n") : text_argument(args[2]);
  const WrapStyle style{integer_argument(args[0]), truthy(r, args[1]), truthy(r, args[3])};
  std::vector<Text> paragraphs;
  for (const Text& line : split_lines(r, text_argument(value), false)) {
    paragraphs.push_back(join_texts(r, newline, wrap_line(r, line, style)));
  }
  return Value(join_texts(r, newline, paragraphs));
}

constexpr std::array<Filter, 14> kFilters = {{
    {"capitalize", cased<Case::kCapitalize>},
    {"center", center},
    {"format", format},
    {"indent", indent},
    {"join", join},
    {"lower", cased<Case::kLower>},
    {"replace", replace},
    {"string", string},
    {"title", title},
    {"trim", trim},
    {"truncate", truncate},
    {"upper", cased<Case::kUpper>},
    {"wordcount", wordcount},
    {"wordwrap", wordwrap},
}};

}  // namespace

std::span<const Filter> text_filters() {
  return kFilters;
}

}  // namespace inferens::jinja
