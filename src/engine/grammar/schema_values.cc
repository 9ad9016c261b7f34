// Strings, numbers and arrays of a schema.
#include <algorithm>
#include <utility>

#include "engine/grammar/number_range.h"
#include "engine/grammar/regex_check.h"
#include "engine/grammar/schema_compiler.h"

namespace inferens {
namespace {

constexpr int64_t kMostCount = 100'000;  // of characters and items
constexpr int64_t kMostMultiples = 2000;
constexpr int64_t kLargestFactor = 200;

struct Format {
  std::string_view name;
  std::string_view regex;
};

// Of RFC 3339, 5321, 1123, 4122, 3986 and 4291, each a part on which all readers agree: years have four digits and are
// not 0000, seconds are below 60, addresses are plain.
constexpr std::string_view kDate =
    "(?:[12][0-9]{3})-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|"
    "02-(?:0[1-9]|1[0-9]|2[0-8]))";
constexpr std::string_view kTime =
    "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,6})?(?:Z|[+\\-](?:[01][0-9]|2[0-3]):[0-5][0-9])";
constexpr std::string_view kHost =
    "[A-Za-z0-9](?:[A-Za-z0-9\\-]{0,30}[A-Za-z0-9])?(?:\\.[A-Za-z](?:[A-Za-z0-9\\-]{0,30}[A-Za-z0-9])?){0,4}";
constexpr Format kFormats[] = {
    {"email",
     "[A-Za-z0-9_+\\-]{1,30}(?:\\.[A-Za-z0-9_+\\-]{1,20}){0,3}@[A-Za-z0-9](?:[A-Za-z0-9\\-]{0,30}[A-Za-z0-9])?(?:\\.[A-"
     "Za-z]{2,10}){1,3}"},
    {"uuid", "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"},
    {"ipv4", "(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"},
    {"ipv6",
     "(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|::(?:[0-9a-fA-F]{1,4}:){0,5}[0-9a-fA-F]{1,4}|"
     "(?:[0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|::"},
    {"uri",
     "[a-z][a-z0-9+.\\-]{1,15}://[A-Za-z0-9.\\-]{1,60}(?::[0-9]{1,4})?(?:/"
     "[A-Za-z0-9._~\\-]{0,60}){0,20}(?:\\?[A-Za-z0-9._~=&\\-]{0,200})?(?:#[A-Za-z0-9._~\\-]{0,60})?"},
    {"duration",
     "P(?:[0-9]{1,6}W|[0-9]{1,6}D|(?:[0-9]{1,6}D)?T[0-9]{1,6}(?:H(?:[0-9]{1,6}M(?:[0-9]{1,6}S)?)?|M(?:[0-9]{1,6}S)?|S)|"
     "[0-9]{1,6}Y(?:[0-9]{1,6}M(?:[0-9]{1,6}D)?)?|[0-9]{1,6}M(?:[0-9]{1,6}D)?)"},
};

std::optional<std::string> regex_of_format(std::string_view name) {
  const auto anchored = [](std::string_view regex) { return "^(?:" + std::string(regex) + ")$"; };
  if (name == "date") return anchored(kDate);
  if (name == "time") return anchored(kTime);
  if (name == "date-time") return anchored(std::string(kDate) + "T" + std::string(kTime));
  if (name == "hostname") return anchored(kHost);
  for (const Format& f : kFormats) {
    if (f.name == name) return anchored(f.regex);
  }
  return std::nullopt;
}

StatusOr<std::optional<Decimal>> decimal_at(const SchemaNode& node, std::string_view keyword) {
  const auto value = node.find(keyword);
  if (!value) return std::optional<Decimal>();
  int64_t whole = 0;
  uint64_t large = 0;
  double real = 0;
  if (value->is_int64() && value->get(whole) == simdjson::SUCCESS) return std::optional(Decimal::of(whole));
  if (value->is_uint64() && value->get(large) == simdjson::SUCCESS) return std::optional(Decimal::of(large));
  if (value->is_double() && value->get(real) == simdjson::SUCCESS) return std::optional(Decimal::of(real));
  return schema_error(node.pointer_of(keyword), "it must be a number");
}

// The whole number at or beyond a bound, on its inner side.
void round_inwards(Decimal& bound, bool& open, bool low) {
  if (bound.fraction.empty()) return;
  bound.fraction.clear();
  const bool away_from_zero = bound.negative != low;
  if (away_from_zero) {
    size_t i = bound.whole.size();
    while (i > 0 && bound.whole[i - 1] == '9') bound.whole[--i] = '0';
    if (i == 0)
      bound.whole.insert(0, 1, '1');
    else
      ++bound.whole[i - 1];
  }
  if (bound.whole == "0") bound.negative = false;
  open = false;
}

// Of two lower (upper) bounds the one that is further in.
bool further_in(const Decimal& a, const Decimal& b, bool low) {
  const auto below = [](const Decimal& x, const Decimal& y) {
    if (x.negative != y.negative) return x.negative;
    const bool smaller = x.whole.size() != y.whole.size() ? x.whole.size() < y.whole.size()
                         : x.whole != y.whole             ? x.whole < y.whole
                                                          : x.fraction < y.fraction;
    return x.negative ? !smaller && (x.whole != y.whole || x.fraction != y.fraction) : smaller;
  };
  return low ? below(b, a) : below(a, b);
}

Status read_bound(const SchemaNode& node, bool low, bool integer, std::optional<Decimal>& bound, bool& open) {
  for (const bool exclusive : {false, true}) {
    const std::string_view keyword =
        low ? (exclusive ? "exclusiveMinimum" : "minimum") : (exclusive ? "exclusiveMaximum" : "maximum");
    StatusOr<std::optional<Decimal>> value = decimal_at(node, keyword);
    if (!value.ok()) return value.status();
    if (!*value) continue;
    bool outside = exclusive;
    if (integer) round_inwards(**value, outside, low);
    const bool replaces = !bound || further_in(**value, *bound, low) || (outside && !further_in(*bound, **value, low));
    if (!replaces) continue;
    bound = **value;
    open = outside;
  }
  return ok_status();
}

// OpenAPI's formats of numbers: widths of integers are bounds. Formats of strings say nothing about numbers.
Status read_number_format(const SchemaNode& node, NumberRange& range) {
  const auto format = node.find("format");
  if (!format) return ok_status();
  std::string_view name;
  if (format->get(name) != simdjson::SUCCESS) return schema_error(node.pointer_of("format"), "it must be a string");
  const bool narrow = name == "int32";
  if (range.integer && (narrow || name == "int64")) {
    range.low = Decimal::of(narrow ? int64_t{INT32_MIN} : INT64_MIN);
    range.high = Decimal::of(narrow ? int64_t{INT32_MAX} : INT64_MAX);
    return ok_status();
  }
  if (name == "double" || (!range.integer && name == "float") || regex_of_format(name)) return ok_status();
  return schema_error(
      node.pointer_of("format"),
      "'" + std::string(name.substr(0, 60)) + "' cannot be kept; of numbers int32, int64, float and double are known");
}

}  // namespace

StatusOr<SchemaCompiler::Body> SchemaCompiler::string(const SchemaNode& node) {
  const StatusOr<int64_t> least = node.count("minLength", 0, kMostCount);
  if (!least.ok()) return least.status();
  const StatusOr<int64_t> most = node.count("maxLength", -1, kMostCount);
  if (!most.ok()) return most.status();
  const bool bounded = node.has("minLength") || node.has("maxLength");
  for (const std::string_view keyword : {"pattern", "format"}) {
    const auto value = node.find(keyword);
    if (!value) continue;
    std::string_view text;
    if (value->get(text) != simdjson::SUCCESS) return schema_error(node.pointer_of(keyword), "it must be a string");
    if (bounded || (node.has("pattern") && node.has("format"))) {
      return schema_error(node.pointer_of(keyword),
                          "beside a length or another pattern it cannot be kept; write one pattern that says both");
    }
    std::optional<std::string> regex(text);
    if (keyword == "format") regex = regex_of_format(text);
    if (!regex) {
      return schema_error(
          node.pointer_of(keyword),
          "'" + std::string(text.substr(0, 60)) +
              "' cannot be kept; known are date, time, date-time, duration, email, hostname, ipv4, ipv6, uri, uuid");
    }
    const StatusOr<std::string> ebnf = regex_to_ebnf(*regex, RegexUse::kJsonString);
    if (!ebnf.ok()) return schema_error(node.pointer_of(keyword), ebnf.status().message());
    return Body{R"("\"" ()" + *ebnf + R"() "\"")", {{}}};
  }
  if (!bounded) return Body{"string", {{}}};
  if (*most >= 0 && *least > *most) return schema_error(node.pointer_of("minLength"), "it is more than maxLength");
  const std::string count = "{" + std::to_string(*least) + "," + (*most < 0 ? "" : std::to_string(*most)) + "}";
  return Body{*most == 0 ? R"("\"\"")" : R"("\"" character)" + count + R"( "\"")", {{}}};
}

StatusOr<SchemaCompiler::Body> SchemaCompiler::number(const SchemaNode& node, bool integer) {
  if (node.has("multipleOf")) {
    if (!integer) {
      return schema_error(
          node.pointer_of("multipleOf"),
          "of type number it cannot be kept by a grammar; use type integer, or leave it out and check the answer");
    }
    return multiples(node);
  }
  NumberRange range;
  range.integer = integer;
  if (Status s = read_number_format(node, range); !s.ok()) return s;
  if (Status s = read_bound(node, true, integer, range.low, range.low_open); !s.ok()) return s;
  if (Status s = read_bound(node, false, integer, range.high, range.high_open); !s.ok()) return s;
  if (!range.low && !range.high) return Body{integer ? "integer" : "number", {{}}};
  const StatusOr<std::string> ebnf = number_range_to_ebnf(range);
  if (!ebnf.ok()) return schema_error(node.pointer(), ebnf.status().message());
  return Body{*ebnf, {{}}};
}

StatusOr<SchemaCompiler::Body> SchemaCompiler::multiples(const SchemaNode& node) {
  const std::string pointer = node.pointer_of("multipleOf");
  const StatusOr<int64_t> factor = node.count("multipleOf", 1, INT32_MAX);
  if (!factor.ok() || *factor == 0)
    return schema_error(pointer, "of type integer only whole numbers above 0 can be kept");
  NumberRange range;
  range.integer = true;
  if (Status s = read_number_format(node, range); !s.ok()) return s;
  if (Status s = read_bound(node, true, true, range.low, range.low_open); !s.ok()) return s;
  if (Status s = read_bound(node, false, true, range.high, range.high_open); !s.ok()) return s;
  Body body{"", {{}}};
  if (range.low && range.high) {
    const auto value = [](const Decimal& d) -> std::optional<int64_t> {
      if (d.whole.size() > 18) return std::nullopt;
      int64_t v = 0;
      for (const char c : d.whole) v = v * 10 + (c - '0');
      return d.negative ? -v : v;
    };
    const auto low = value(*range.low), high = value(*range.high);
    if (!low || !high) return schema_error(pointer, "between bounds this large it cannot be kept");
    const int64_t from = *low + (range.low_open ? 1 : 0), to = *high - (range.high_open ? 1 : 0);
    if (from <= to && (to - from) / *factor > kMostMultiples) {
      return schema_error(
          pointer, "more than " + std::to_string(kMostMultiples) + " multiples between the bounds cannot be kept");
    }
    int64_t first = from - from % *factor;
    if (first < from) first += *factor;
    for (int64_t v = first; v <= to; v += *factor) {
      body.ebnf += (body.ebnf.empty() ? "\"" : " | \"") + std::to_string(v) + "\"";
    }
    if (body.ebnf.empty()) return schema_error(pointer, "no multiple lies between the bounds");
    return body;
  }
  if (range.low || range.high)
    return schema_error(pointer, "beside one bound alone it cannot be kept; give both or none");
  if (*factor > kLargestFactor) {
    return schema_error(pointer, "without bounds at most " + std::to_string(kLargestFactor) + " can be kept");
  }
  // One rule for each remainder of the digits so far.
  const std::string prefix = "m" + std::to_string(extra_count_++) + "_";
  const auto digits_from = [&](int64_t remainder, int first) {
    std::string ways;
    for (int digit = first; digit < 10; ++digit) {
      ways += (ways.empty() ? "\"" : " | \"") + std::to_string(digit) + "\" " + prefix +
              std::to_string((remainder * 10 + digit) % *factor);
    }
    return ways;
  };
  for (int64_t r = 0; r < *factor; ++r) {
    extra_rules_ += prefix + std::to_string(r) + " ::= " + digits_from(r, 0) + (r == 0 ? " | \"\"" : "") + "\n";
  }
  body.ebnf = "\"0\" | \"-\"? (" + digits_from(0, 1) + ")";
  return body;
}

StatusOr<SchemaCompiler::Body> SchemaCompiler::array(const SchemaNode& node) {
  if (const auto unique = node.find("uniqueItems")) {
    bool wanted = true;
    if (unique->get(wanted) != simdjson::SUCCESS || wanted) {
      return schema_error(node.pointer_of("uniqueItems"),
                          "a grammar cannot keep it; leave it out and check the answer");
    }
  }
  StatusOr<int64_t> least = node.count("minItems", 0, kMostCount), most = node.count("maxItems", -1, kMostCount);
  if (!least.ok()) return least.status();
  if (!most.ok()) return most.status();
  if (*most >= 0 && *least > *most) return schema_error(node.pointer_of("minItems"), "it is more than maxItems");
  std::vector<size_t> first;
  if (const auto prefix = node.find("prefixItems")) {
    simdjson::dom::array list;
    if (prefix->get(list) != simdjson::SUCCESS)
      return schema_error(node.pointer_of("prefixItems"), "it must be an array of schemas");
    for (const SchemaValue item : list)
      first.push_back(place(item, node.pointer_of("prefixItems") + '/' + std::to_string(first.size())));
  }
  bool open = true;
  std::optional<size_t> more;
  if (const auto items = node.find("items")) {
    if (items->is_array()) return schema_error(node.pointer_of("items"), "as an array it is called prefixItems now");
    bool constant = true;
    if (items->get(constant) == simdjson::SUCCESS && !constant)
      open = false;
    else
      more = place(*items, node.pointer_of("items"));
  }
  const auto given = static_cast<int64_t>(first.size());
  if (!open && *least > given)
    return schema_error(node.pointer_of("minItems"), "it is more than the items there may be");
  if (*most >= 0 && *most < given) first.resize(static_cast<size_t>(*most));
  const auto leading = static_cast<int64_t>(first.size());

  // From the end: what may follow once the first i items are there.
  std::string rest = "\"\"";
  const int64_t still = std::max<int64_t>(0, *least - leading);
  if (open && (*most < 0 || *most > leading)) {
    const std::string item = more ? rule_of(*more) : "any";
    const auto repeated = [&](const std::string& unit, int64_t from, int64_t to) {
      return "(" + unit + "){" + std::to_string(from) + "," + (to < 0 ? "" : std::to_string(to)) + "}";
    };
    const int64_t limit = *most < 0 ? -1 : *most - leading;
    if (leading > 0) {
      rest = repeated("ws \",\" ws " + item, still, limit);
    } else {
      rest = "ws " + item +
             (limit == 1
                  ? ""
                  : " " + repeated("ws \",\" ws " + item, std::max<int64_t>(0, still - 1), limit < 0 ? -1 : limit - 1));
      if (still == 0) rest = "(" + rest + ")?";
    }
  }
  Body body{"", {{}}};
  for (int64_t i = leading; i-- > 0;) {
    rest =
        (i == 0 ? "ws " : "ws \",\" ws ") + rule_of(first[static_cast<size_t>(i)]) + (rest == "\"\"" ? "" : " " + rest);
    if (i >= *least) rest = "(" + rest + ")?";
  }
  for (int64_t i = 0; i < std::min(leading, *least); ++i) body.needs[0].push_back(first[static_cast<size_t>(i)]);
  if (more && still > 0) body.needs[0].push_back(*more);
  body.ebnf = "\"[\" " + (rest == "\"\"" ? "" : rest + " ") + "ws \"]\"";
  return body;
}

}  // namespace inferens
