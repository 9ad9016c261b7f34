// Python's str methods.
#include <algorithm>
#include <array>

#include "text/jinja/characters.h"
#include "text/jinja/format.h"
#include "text/jinja/methods.h"
#include "text/jinja/print.h"

namespace inferens::jinja {
namespace {

// An argument beside a Markup is escaped first.
Text beside(Runtime& runtime, const Text& self, const Value& argument) {
  return self.is_markup() ? escape(runtime, argument) : text_argument(argument);
}
Value list_of(Runtime& runtime, const std::vector<Text>& parts) {
  std::vector<Value> items(parts.begin(), parts.end());
  return make_list(runtime.budget(), std::move(items));
}

template <Case kWanted>
Value cased(Runtime& r, const Value& self, const Arguments& a) {
  (void)a.bind("str method", {});
  return Value(change_case(r, self.text(), kWanted));
}

template <bool kLeft, bool kRight>
Value strip(Runtime& r, const Value& self, const Arguments& a) {
  return Value(strip_text(r, self.text(), a.bind("strip", {{"", Value()}})[0], kLeft, kRight));
}

// Splits on whitespace: at most `limit` cuts, from the left or from the right.
std::vector<Text> split_spaces(Runtime& r, const Text& text, int64_t limit, bool from_right) {
  std::vector<Text> parts;
  std::string_view rest = text.view();
  const auto cut = [&](std::string_view piece) {
    const auto begin = static_cast<size_t>(piece.data() - text.view().data());
    parts.push_back(slice_text(r, text, begin, begin + piece.size()));
  };
  const auto space_at = [](std::string_view s, size_t at) { return is_space(decode_utf8(s, at).value); };
  while (true) {
    rest = from_right ? strip_right(rest) : strip_left(rest);
    if (rest.empty()) break;
    if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) {
      cut(from_right ? strip_right(rest) : rest);
      break;
    }
    size_t begin = 0, end = rest.size();
    if (from_right) {
      begin = rest.size();
      while (begin > 0 && !space_at(rest, previous_character(rest, begin))) begin = previous_character(rest, begin);
    } else {
      end = 0;
      while (end < rest.size() && !space_at(rest, end)) end += decode_utf8(rest, end).length;
    }
    cut(rest.substr(begin, end - begin));
    rest = from_right ? rest.substr(0, begin) : rest.substr(end);
  }
  if (from_right) std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<Text> split_separator(Runtime& r, const Text& text, const Text& separator, int64_t limit, bool from_right) {
  if (separator.empty()) fail("empty separator");
  std::vector<Text> parts;
  const std::string_view view = text.view();
  if (from_right) {
    size_t end = view.size();
    while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
      const size_t at = end < separator.size() ? std::string_view::npos
                                               : find_last_bytes(r.budget(), view.substr(0, end), separator.view());
      if (at == std::string_view::npos) break;
      parts.push_back(slice_text(r, text, at + separator.size(), end));
      end = at;
    }
    parts.push_back(slice_text(r, text, 0, end));
    std::reverse(parts.begin(), parts.end());
    return parts;
  }
  size_t begin = 0;
  while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
    const size_t at = find_bytes(view, separator.view(), begin);
    if (at == std::string_view::npos) break;
    parts.push_back(slice_text(r, text, begin, at));
    begin = at + separator.size();
  }
  parts.push_back(slice_text(r, text, begin, view.size()));
  return parts;
}

template <bool kFromRight>
Value split(Runtime& r, const Value& self, const Arguments& a) {
  const auto args = a.bind("split", {{"sep", Value()}, {"maxsplit", Value(-1)}});
  const int64_t limit = integer_argument(args[1]);
  if (args[0].is_none()) return list_of(r, split_spaces(r, self.text(), limit, kFromRight));
  return list_of(r, split_separator(r, self.text(), text_argument(args[0]), limit, kFromRight));
}

Value splitlines(Runtime& r, const Value& self, const Arguments& a) {
  return list_of(r, split_lines(r, self.text(), truthy(r, a.bind("splitlines", {{"keepends", Value(false)}})[0])));
}

template <bool kFromRight>
Value partition(Runtime& r, const Value& self, const Arguments& a) {
  const Value argument = a.bind("partition", {{""}})[0];
  const Text &text = self.text(), &separator = text_argument(argument);
  if (separator.empty()) fail("empty separator");
  const size_t at = kFromRight ? find_last_bytes(r.budget(), text.view(), separator.view())
                               : find_bytes(text.view(), separator.view());
  if (at == std::string_view::npos) {
    const Value empty{Text()};
    return make_tuple(r.budget(),
                      kFromRight ? std::vector<Value>{empty, empty, self} : std::vector<Value>{self, empty, empty});
  }
  const size_t end = at + separator.size();
  return make_tuple(r.budget(), {Value(slice_text(r, text, 0, at)), Value(slice_text(r, text, at, end)),
                                 Value(slice_text(r, text, end, text.size()))});
}

// The byte range that optional start and end arguments select; nullopt when start is past the end.
std::optional<std::pair<size_t, size_t>> byte_range(const Text& text, const Value& start, const Value& stop) {
  const auto length = static_cast<int64_t>(text.length());
  const auto place = [&](const Value& v, int64_t otherwise) {
    if (v.is_none()) return otherwise;
    const int64_t i = integer_argument(v);
    return i < 0 ? std::max<int64_t>(0, i < -length ? 0 : i + length) : i;
  };
  const int64_t begin = place(start, 0), end = std::min(place(stop, length), length);
  if (begin > length || begin > end) return std::nullopt;
  return std::pair{text.byte_of(static_cast<size_t>(begin)), text.byte_of(static_cast<size_t>(end))};
}

template <bool kAtEnd>
Value starts_or_ends(Runtime& r, const Value& self, const Arguments& a) {
  const auto args = a.bind(kAtEnd ? "endswith" : "startswith", {{""}, {"", Value()}, {"", Value()}});
  const auto range = byte_range(self.text(), args[1], args[2]);
  std::vector<Value> options = {args[0]};
  if (args[0].is(Kind::kSequence) && args[0].sequence()->kind == SequenceKind::kTuple) options = collect(r, args[0]);
  for (const Value& option : options) {
    const std::string_view wanted = text_argument(option).view();
    if (!range) continue;
    const std::string_view part = self.text().view().substr(range->first, range->second - range->first);
    if (kAtEnd ? part.ends_with(wanted) : part.starts_with(wanted)) return Value(true);
  }
  return Value(false);
}

template <bool kFromRight, bool kMustFind>
Value find(Runtime& r, const Value& self, const Arguments& a) {
  const auto args = a.bind("find", {{""}, {"", Value()}, {"", Value()}});
  const std::string_view wanted = text_argument(args[0]).view();
  if (const auto range = byte_range(self.text(), args[1], args[2])) {
    const std::string_view part = self.text().view().substr(range->first, range->second - range->first);
    const size_t at = kFromRight ? find_last_bytes(r.budget(), part, wanted) : find_bytes(part, wanted);
    if (at != std::string_view::npos) return Value(static_cast<int64_t>(self.text().index_of(range->first + at)));
  }
  if (kMustFind) fail("substring not found");
  return Value(-1);
}

Value count(Runtime&, const Value& self, const Arguments& a) {
  const auto args = a.bind("count", {{""}, {"", Value()}, {"", Value()}});
  const std::string_view wanted = text_argument(args[0]).view();
  const auto range = byte_range(self.text(), args[1], args[2]);
  if (!range) return Value(0);
  const std::string_view part = self.text().view().substr(range->first, range->second - range->first);
  if (wanted.empty()) {
    return Value(static_cast<int64_t>(self.text().index_of(range->second) - self.text().index_of(range->first)) + 1);
  }
  int64_t found = 0;
  for (size_t at = find_bytes(part, wanted); at != std::string_view::npos;
       at = find_bytes(part, wanted, at + wanted.size()))
    ++found;
  return Value(found);
}

Value replace(Runtime& r, const Value& self, const Arguments& a) {
  const auto args = a.bind("replace", {{""}, {""}, {"", Value(-1)}});
  const Text& text = self.text();
  const Text to = beside(r, text, args[1]);
  return Value(
      replace_text(r, text, text_argument(args[0]), to, integer_argument(args[2])).as_markup(text.is_markup()));
}

Value join(Runtime& r, const Value& self, const Arguments& a) {
  std::vector<Text> parts;
  for (const Value& part : collect(r, a.bind("join", {{""}})[0])) {
    if (!part.is_text() && !self.text().is_markup())
      fail("sequence item " + std::to_string(parts.size()) + ": expected str instance, " +
           std::string(type_name(part)) + " found");
    parts.push_back(beside(r, self.text(), part));
  }
  return Value(join_texts(r, self.text(), parts).as_markup(self.text().is_markup()));
}

template <bool kSuffix>
Value remove_affix(Runtime& r, const Value& self, const Arguments& a) {
  const Value argument = a.bind("removeprefix", {{""}})[0];
  const Text &text = self.text(), &affix = text_argument(argument);
  const bool has = kSuffix ? text.view().ends_with(affix.view()) : text.view().starts_with(affix.view());
  if (!has) return self;
  return Value(kSuffix ? slice_text(r, text, 0, text.size() - affix.size())
                       : slice_text(r, text, affix.size(), text.size()));
}

enum class Side { kLeft, kRight, kCenter };
template <Side kSide>
Value justify(Runtime& r, const Value& self, const Arguments& a) {
  const auto args = a.bind("justify", {{""}, {"", Value(Text::untrusted(" "))}});
  const Text &text = self.text(), &fill = text_argument(args[1]);
  if (fill.length() != 1) fail("the fill character must be exactly one character long");
  const int64_t width = integer_argument(args[0]), length = static_cast<int64_t>(text.length());
  if (width <= length) return self;
  const auto pad = static_cast<uint64_t>(width - length);
  // str.center puts the odd space left when the width is odd.
  const uint64_t left = kSide == Side::kLeft    ? 0
                        : kSide == Side::kRight ? pad
                                                : pad / 2 + (pad & static_cast<uint64_t>(width) & 1);
  TextBuilder out(r.budget());
  out.append_repeated(fill, left);
  out.append(text);
  out.append_repeated(fill, pad - left);
  return Value(out.take().as_markup(text.is_markup()));
}

Value zfill(Runtime& r, const Value& self, const Arguments& a) {
  const int64_t width = integer_argument(a.bind("zfill", {{""}})[0]),
                length = static_cast<int64_t>(self.text().length());
  if (width <= length) return self;
  const size_t sign = self.text().view().starts_with('-') || self.text().view().starts_with('+') ? 1 : 0;
  TextBuilder out(r.budget());
  out.append(self.text(), 0, sign);
  out.append_repeated(Text::untrusted("0"), static_cast<uint64_t>(width - length));
  out.append(self.text(), sign, self.text().size());
  return Value(out.take().as_markup(self.text().is_markup()));
}

Value expandtabs(Runtime& r, const Value& self, const Arguments& a) {
  const int64_t size = integer_argument(a.bind("expandtabs", {{"tabsize", Value(8)}})[0]);
  TextBuilder out(r.budget());
  int64_t column = 0;
  for_each_character(self.text().view(), [&](const Character& c) {
    if (c.value == U'\t') {
      const int64_t spaces = size > 0 ? size - column % size : 0;
      out.append_repeated(Text::untrusted(" "), static_cast<uint64_t>(spaces));
      column += spaces;
    } else {
      column = c.value == U'\n' || c.value == U'\r' ? 0 : column + 1;
      out.append(self.text(), c.begin, c.end);
    }
  });
  return Value(out.take().as_markup(self.text().is_markup()));
}

Value format(Runtime& r, const Value& self, const Arguments& a) {
  return Value(format_braces(r, self.text(), a));
}

Value format_map(Runtime& r, const Value& self, const Arguments& a) {
  const Value mapping = a.bind("format_map", {{""}})[0];
  Arguments named;
  if (!mapping.is(Kind::kDict)) fail("format_map() needs a mapping");
  for (const auto& [key, value] : mapping.dict()->entries) {
    if (key.is_text()) named.keyword.emplace_back(key.text(), value);
  }
  return Value(format_braces(r, self.text(), named));
}

// isalpha and its like: every character passes and there is one.
template <bool (*kClass)(char32_t)>
Value all_are(Runtime&, const Value& self, const Arguments& a) {
  (void)a.bind("str test", {});
  bool all = !self.text().empty();
  for_each_character(self.text().view(), [&](const Character& c) { all = all && kClass(c.value); });
  return Value(all);
}
bool is_alnum(char32_t c) {
  return is_alpha(c) || is_numeric(c);
}

template <bool kUpper>
Value has_case(Runtime&, const Value& self, const Arguments& a) {
  (void)a.bind("str test", {});
  bool cased_found = false, other_found = false;
  for_each_character(self.text().view(), [&](const Character& c) {
    if (kUpper ? is_upper(c.value) : is_lower(c.value))
      cased_found = true;
    else if (is_cased(c.value))
      other_found = true;
  });
  return Value(cased_found && !other_found);
}

Value istitle(Runtime&, const Value& self, const Arguments& a) {
  (void)a.bind("istitle", {});
  bool any = false, previous = false, good = true;
  for_each_character(self.text().view(), [&](const Character& c) {
    if (is_upper(c.value) || is_title(c.value)) {
      good = good && !previous;
      previous = any = true;
    } else if (is_lower(c.value)) {
      good = good && previous;
      previous = any = true;
    } else {
      previous = false;
    }
  });
  return Value(any && good);
}

Value isascii(Runtime&, const Value& self, const Arguments& a) {
  (void)a.bind("isascii", {});
  return Value(self.text().is_ascii());
}
Value isprintable(Runtime&, const Value& self, const Arguments& a) {
  (void)a.bind("isprintable", {});
  bool all = true;
  for_each_character(self.text().view(), [&](const Character& c) { all = all && is_printable(c.value); });
  return Value(all);
}
Value isidentifier(Runtime&, const Value& self, const Arguments& a) {
  (void)a.bind("isidentifier", {});
  bool all = !self.text().empty();
  for_each_character(self.text().view(), [&](const Character& c) {
    all = all && (c.begin == 0 ? is_identifier_start(c.value) : is_identifier_part(c.value));
  });
  return Value(all);
}

Value refuse(Runtime&, const Value&, const Arguments&) {
  fail_unsupported("str.encode, maketrans and translate have no use in a prompt and are not supported");
}

struct Entry {
  std::string_view name;
  Method method;
};
constexpr std::array<Entry, 47> kMethods = {{
    {"capitalize", cased<Case::kCapitalize>},
    {"casefold", cased<Case::kFold>},
    {"center", justify<Side::kCenter>},
    {"count", count},
    {"encode", refuse},
    {"endswith", starts_or_ends<true>},
    {"expandtabs", expandtabs},
    {"find", find<false, false>},
    {"format", format},
    {"format_map", format_map},
    {"index", find<false, true>},
    {"isalnum", all_are<is_alnum>},
    {"isalpha", all_are<is_alpha>},
    {"isascii", isascii},
    {"isdecimal", all_are<is_decimal>},
    {"isdigit", all_are<is_digit_like>},
    {"isidentifier", isidentifier},
    {"islower", has_case<false>},
    {"isnumeric", all_are<is_numeric>},
    {"isprintable", isprintable},
    {"isspace", all_are<is_space>},
    {"istitle", istitle},
    {"isupper", has_case<true>},
    {"join", join},
    {"ljust", justify<Side::kLeft>},
    {"lower", cased<Case::kLower>},
    {"lstrip", strip<true, false>},
    {"maketrans", refuse},
    {"partition", partition<false>},
    {"removeprefix", remove_affix<false>},
    {"removesuffix", remove_affix<true>},
    {"replace", replace},
    {"rfind", find<true, false>},
    {"rindex", find<true, true>},
    {"rjust", justify<Side::kRight>},
    {"rpartition", partition<true>},
    {"rsplit", split<true>},
    {"rstrip", strip<false, true>},
    {"split", split<false>},
    {"splitlines", splitlines},
    {"startswith", starts_or_ends<false>},
    {"strip", strip<true, true>},
    {"swapcase", cased<Case::kSwap>},
    {"title", cased<Case::kTitle>},
    {"translate", refuse},
    {"upper", cased<Case::kUpper>},
    {"zfill", zfill},
}};

}  // namespace

Method find_string_method(std::string_view name) {
  const auto* entry = std::find_if(kMethods.begin(), kMethods.end(), [&](const Entry& e) { return e.name == name; });
  return entry == kMethods.end() ? nullptr : entry->method;
}

}  // namespace inferens::jinja
