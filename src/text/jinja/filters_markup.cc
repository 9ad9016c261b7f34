// Filters for markup and for data formats: escape, safe, tojson, urlencode and their kin.
#include <algorithm>
#include <array>
#include <charconv>

#include "text/jinja/characters.h"
#include "text/jinja/filters.h"
#include "text/jinja/json.h"
#include "text/jinja/methods.h"
#include "text/jinja/print.h"
#include "text/jinja/stable_order.h"

namespace inferens::jinja {
namespace {

Value escape_filter(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("escape", {});
  return Value(escape(r, value));
}

Value force_escape(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("forceescape", {});
  return Value(escape(r, Value(to_text(r, value))));
}

Value safe(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("safe", {});
  return Value(to_text(r, value).as_markup(true));
}

Value tojson(Runtime& r, const Value& value, const Arguments& a) {
  const auto args = a.bind(
      "tojson",
      {{"ensure_ascii", Value(false)}, {"indent", Value()}, {"separators", Value()}, {"sort_keys", Value(false)}});
  JsonStyle style;
  style.ensure_ascii = truthy(r, args[0]);
  if (args[1].is_text()) {
    style.indent = args[1].text();
  } else if (!args[1].is_none()) {
    if (!args[1].is_integral()) fail("tojson: indent must be an integer or a string");
    TextBuilder spaces(r.budget());
    spaces.append_repeated(Text::untrusted(" "), static_cast<uint64_t>(std::max<int64_t>(0, args[1].integer())));
    style.indent = spaces.take();
  }
  style.item_separator = Text::untrusted(style.indent ? "," : ", ");
  style.key_separator = Text::untrusted(": ");
  if (!args[2].is_none()) {
    const std::vector<Value> separators = collect(r, args[2]);
    if (separators.size() != 2 || !separators[0].is_text() || !separators[1].is_text())
      fail("tojson: separators must be two strings");
    style.item_separator = separators[0].text();
    style.key_separator = separators[1].text();
  }
  style.sort_keys = truthy(r, args[3]);
  return Value(to_json(r, value, style));
}

Text quote_url(Runtime& r, const Value& value, bool for_query) {
  const Text text = to_text(r, value);
  TextBuilder out(r.budget());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text.view()[i]);
    const bool plain = c < 0x80 && (is_alpha(c) || is_decimal(c) ||
                                    std::string_view("_.-~").find(static_cast<char>(c)) != std::string_view::npos);
    if (plain || (c == '/' && !for_query)) {
      out.append(text, i, i + 1);
    } else if (c == ' ' && for_query) {
      out.append("+", false);
    } else {
      static constexpr std::string_view kHex = "0123456789ABCDEF";
      out.append(std::string{'%', kHex[c >> 4], kHex[c & 15]}, false);
    }
  }
  return out.take();
}

Value urlencode(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("urlencode", {});
  if (value.is_text() || !is_iterable(value)) return Value(quote_url(r, value, false));
  std::vector<Value> pairs;
  if (value.is(Kind::kDict)) {
    for (const auto& [key, item] : value.dict()->entries) pairs.push_back(make_tuple(r.budget(), {key, item}));
  } else {
    pairs = collect(r, value);
  }
  std::vector<Text> parts;
  for (const Value& pair : pairs) {
    const std::vector<Value> both = collect(r, pair);
    if (both.size() != 2) fail("urlencode needs pairs of key and value");
    parts.push_back(join_texts(r, Text::untrusted("="), {quote_url(r, both[0], true), quote_url(r, both[1], true)}));
  }
  return Value(join_texts(r, Text::untrusted("&"), parts));
}

Value xmlattr(Runtime& r, const Value& value, const Arguments& a) {
  const auto args = a.bind("xmlattr", {{"autospace", Value(true)}});
  if (value.is_undefined()) fail_undefined(value);
  if (!value.is(Kind::kDict)) fail("xmlattr needs a dict");
  TextBuilder out(r.budget());
  for (const auto& [key, item] : value.dict()->entries) {
    if (item.is_none() || item.is_undefined()) continue;
    if (!key.is_text()) fail("xmlattr keys must be strings");
    if (key.text().view().find_first_of(" \t\n\r\f\v/>=") != std::string_view::npos)
      fail("invalid character in attribute name");
    if (!out.empty() || truthy(r, args[0])) out.append(" ", false);
    out.append(escape(r, key));
    out.append("=\"", false);
    out.append(escape(r, item));
    out.append("\"", false);
  }
  return Value(out.take().as_markup(r.autoescape()));
}

// Removes what stands between `open` and `close`, again and again.
Text remove_between(Runtime& r, const Text& text, std::string_view open, std::string_view close) {
  TextBuilder out(r.budget());
  size_t copied = 0;
  for (;;) {
    const size_t start = text.view().find(open, copied);
    const size_t end = start == std::string_view::npos ? start : text.view().find(close, start);
    if (end == std::string_view::npos) break;
    out.append(text, copied, start);
    copied = end + close.size();
  }
  out.append(text, copied, text.size());
  return out.take();
}

// One character reference at `at` (an '&'): its meaning, and how long it is; length 0: none that is known.
std::pair<std::string, size_t> read_entity(std::string_view text, size_t at) {
  constexpr size_t kLongest = 12;
  const size_t length = text.substr(at, kLongest).find(';');
  if (length == std::string_view::npos) return {"", 0};
  const size_t end = at + length;
  const std::string_view name = text.substr(at + 1, end - at - 1);
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kNamed = {
      {{"amp", "&"}, {"lt", "<"}, {"gt", ">"}, {"quot", "\""}, {"apos", "'"}, {"nbsp", "\xC2\xA0"}}};
  for (const auto& [known, meaning] : kNamed) {
    if (known == name) return {std::string(meaning), end + 1 - at};
  }
  if (name.size() < 2 || name[0] != '#') return {"", 0};
  const bool is_hex = name[1] == 'x' || name[1] == 'X';
  const std::string_view digits = name.substr(is_hex ? 2 : 1);
  uint32_t code = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), code, is_hex ? 16 : 10);
  if (digits.empty() || parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) return {"", 0};
  std::string out;
  const bool bad = code == 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF);
  append_utf8(bad ? U'\uFFFD' : static_cast<char32_t>(code), out);
  return {out, end + 1 - at};
}

Value striptags(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("striptags", {});
  const Text bare = remove_between(r, remove_between(r, to_text(r, value), "<!--", "-->"), "<", ">");
  std::vector<Text> words;
  const Value split = find_string_method("split")(r, Value(bare), Arguments());
  for (const Value& word : split.sequence()->items) words.push_back(word.text());
  const Text joined = join_texts(r, Text::untrusted(" "), words);
  TextBuilder out(r.budget());
  for (size_t at = 0; at < joined.size();) {
    const auto [meaning, length] =
        joined.view()[at] == '&' ? read_entity(joined.view(), at) : std::pair<std::string, size_t>{"", 0};
    if (length == 0) {
      out.append(joined, at, at + 1);
      ++at;
    } else {
      out.append(meaning, false);  // a decoded character was not spelled by anyone
      at += length;
    }
  }
  return Value(out.take());
}

Value sorted_for_print(Runtime& r, const Value& value) {
  const Runtime::Depth depth(r);
  if (value.is(Kind::kDict)) {
    const auto& entries = value.dict()->entries;
    const auto order = stable_order(entries.size(), [&](size_t x, size_t y) {
      const Value &a = entries[x].first, &b = entries[y].first;
      return a.is_text() && b.is_text() && a.text().view() < b.text().view();
    });
    DictBuilder dict(r.budget());
    for (const size_t i : order) dict.set(entries[i].first, sorted_for_print(r, entries[i].second));
    return Value(dict.take());
  }
  if (!value.is(Kind::kSequence) || value.sequence()->kind == SequenceKind::kRange) return value;
  std::vector<Value> items;
  for (const Value& item : value.sequence()->items) items.push_back(sorted_for_print(r, item));
  return make_list(r.budget(), std::move(items), value.sequence()->kind);
}

Value pprint(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("pprint", {});
  TextBuilder out(r.budget());
  append_repr(r, sorted_for_print(r, value), out);
  const Text text = out.take();
  const bool container = value.is(Kind::kDict) || value.is(Kind::kSequence) || value.is_text();
  if (container && text.length() > 80)
    fail_unsupported("pprint of more than one line is not supported; use tojson(indent=2)");
  return Value(text);
}

Value refuse_urlize(Runtime&, const Value&, const Arguments&) {
  fail_unsupported("the urlize filter makes HTML links, which a prompt cannot use");
}

constexpr std::array<Filter, 10> kFilters = {{
    {"e", escape_filter},
    {"escape", escape_filter},
    {"forceescape", force_escape},
    {"pprint", pprint},
    {"safe", safe},
    {"striptags", striptags},
    {"tojson", tojson},
    {"urlencode", urlencode},
    {"urlize", refuse_urlize},
    {"xmlattr", xmlattr},
}};

}  // namespace

std::span<const Filter> markup_filters() {
  return kFilters;
}

}  // namespace inferens::jinja
