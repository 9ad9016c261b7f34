// Filters that work on lists, dicts and streams as a whole.
#include <algorithm>
#include <array>

#include "text/jinja/attribute_path.h"
#include "text/jinja/filters.h"
#include "text/jinja/operators.h"
#include "text/jinja/stable_order.h"

namespace inferens::jinja {
namespace {

// A stream over values that are already there.
Value stream(Runtime& r, std::vector<Value> items) {
  return Value(r.make<Generator>([items = std::move(items), at = size_t{0}](Value& out) mutable {
    if (at >= items.size()) return false;
    out = items[at++];
    return true;
  }));
}

// A stream whose values are worked out when the first is asked for, so that errors come when Python's would.
Value late_stream(Runtime& r, std::function<std::vector<Value>()> make) {
  return Value(r.make<Generator>(
      [make = std::move(make), items = std::vector<Value>(), at = size_t{0}, made = false](Value& out) mutable {
        if (!made) items = make();
        made = true;
        if (at >= items.size()) return false;
        out = items[at++];
        return true;
      }));
}

// Indexes of `keys` in order. Stable, also in reverse.
std::vector<size_t> sorted_order(Runtime& r, const std::vector<Value>& keys, bool reverse) {
  return stable_order(keys.size(), [&](size_t x, size_t y) {
    return reverse ? compare(r.budget(), keys[y], keys[x]).value_or(1) < 0
                   : compare(r.budget(), keys[x], keys[y]).value_or(1) < 0;
  });
}

Value batch(Runtime& r, const Value& value, const Arguments& a) {
  const auto args = a.bind("batch", {{"linecount"}, {"fill_with", Value()}});
  return late_stream(r, [&r, value, args] {
    const auto line = args[0].is_number() ? args[0].number() : -1;
    std::vector<Value> lines, current;
    for (const Value& item : collect(r, value)) {
      if (static_cast<double>(current.size()) == line)
        lines.push_back(make_list(r.budget(), std::exchange(current, {})));
      current.push_back(item);
    }
    if (!current.empty()) {
      const int64_t count = args[1].is_none() ? 0 : integer_argument(args[0]);
      while (static_cast<int64_t>(current.size()) < count) {
        r.budget().memory(2 * sizeof(Value));
        current.push_back(args[1]);
      }
      lines.push_back(make_list(r.budget(), std::move(current)));
    }
    return lines;
  });
}

Value slice(Runtime& r, const Value& value, const Arguments& a) {
  const auto args = a.bind("slice", {{"slices"}, {"fill_with", Value()}});
  return late_stream(r, [&r, value, args] {
    const std::vector<Value> items = collect(r, value);
    const int64_t slices = integer_argument(args[0]), length = static_cast<int64_t>(items.size());
    if (slices == 0) fail("integer division or modulo by zero");
    std::vector<Value> result;
    int64_t begin = 0;
    for (int64_t i = 0; i < slices; ++i) {
      const bool extra = i < length % slices;
      const int64_t end = begin + length / slices + (extra ? 1 : 0);
      std::vector<Value> part(items.begin() + begin, items.begin() + end);
      if (!args[1].is_none() && !extra) part.push_back(args[1]);
      result.push_back(make_list(r.budget(), std::move(part)));
      r.budget().memory(2 * sizeof(Value));
      begin = end;
    }
    return result;
  });
}

Value dictsort(Runtime& r, const Value& value, const Arguments& a) {
  const auto args = a.bind(
      "dictsort", {{"case_sensitive", Value(false)}, {"by", Value(Text::trusted("key"))}, {"reverse", Value(false)}});
  const std::string_view by = args[1].is_text() ? args[1].text().view() : "";
  if (by != "key" && by != "value") fail("You can only sort by either \"key\" or \"value\"");
  if (value.is_undefined()) fail_undefined(value);
  if (!value.is(Kind::kDict)) fail("dictsort needs a dict");
  const AttributePath fold(r, Value(), !truthy(r, args[0]));
  std::vector<Value> keys, items;
  for (const auto& [key, item] : value.dict()->entries) {
    keys.push_back(fold.get(by == "key" ? key : item));
    items.push_back(make_tuple(r.budget(), {key, item}));
  }
  std::vector<Value> sorted;
  for (const size_t i : sorted_order(r, keys, truthy(r, args[2]))) sorted.push_back(items[i]);
  return make_list(r.budget(), std::move(sorted));
}

Value sort(Runtime& r, const Value& value, const Arguments& a) {
  const auto args =
      a.bind("sort", {{"reverse", Value(false)}, {"case_sensitive", Value(false)}, {"attribute", Value()}});
  const auto paths = split_attribute_paths(r, args[2], !truthy(r, args[1]));
  const std::vector<Value> items = collect(r, value);
  std::vector<Value> keys, sorted;
  for (const Value& item : items) {
    std::vector<Value> key;
    for (const AttributePath& path : paths) key.push_back(path.get(item));
    keys.push_back(make_list(r.budget(), std::move(key)));
  }
  for (const size_t i : sorted_order(r, keys, truthy(r, args[0]))) sorted.push_back(items[i]);
  return make_list(r.budget(), std::move(sorted));
}

Value unique(Runtime& r, const Value& value, const Arguments& a) {
  const auto args = a.bind("unique", {{"case_sensitive", Value(false)}, {"attribute", Value()}});
  const AttributePath path(r, args[1], !truthy(r, args[0]));
  return late_stream(r, [&r, value, path] {
    std::vector<Value> result, other_keys;
    std::unordered_map<std::string, bool> text_keys;
    for (const Value& item : collect(r, value)) {
      const Value key = path.get(item);
      if (!is_hashable(key)) fail("unhashable type: '" + std::string(type_name(key)) + "'");
      bool fresh = false;
      if (key.is_text()) {
        fresh = text_keys.emplace(key.text().str(), true).second;
      } else {
        fresh = std::none_of(other_keys.begin(), other_keys.end(),
                             [&](const Value& k) { return equals(r.budget(), k, key); });
        if (fresh) other_keys.push_back(key);
      }
      if (fresh) result.push_back(item);
    }
    return result;
  });
}

template <bool kMax>
Value extreme(Runtime& r, const Value& value, const Arguments& a) {
  const auto args = a.bind(kMax ? "max" : "min", {{"case_sensitive", Value(false)}, {"attribute", Value()}});
  const AttributePath path(r, args[1], !truthy(r, args[0]));
  const std::vector<Value> items = collect(r, value);
  if (items.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  size_t best = 0;
  Value best_key = path.get(items[0]);
  for (size_t i = 1; i < items.size(); ++i) {
    Value key = path.get(items[i]);
    const auto order = compare(r.budget(), key, best_key);
    if (!order || (kMax ? *order <= 0 : *order >= 0)) continue;
    best = i;
    best_key = std::move(key);
  }
  return items[best];
}

Value sum(Runtime& r, const Value& value, const Arguments& a) {
  const auto args = a.bind("sum", {{"attribute", Value()}, {"start", Value(0)}});
  const AttributePath path(r, args[0]);
  if (args[1].is_text()) fail("sum() can't sum strings [use ''.join(seq) instead]");
  Value total = args[1];
  for (const Value& item : collect(r, value)) total = binary(r, Operator::kAdd, total, path.get(item));
  return total;
}

Value first(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("first", {});
  Value item;
  return iterate(r, value)(item) ? item : Value::undefined("No first item, sequence was empty.");
}

Value last(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("last", {});
  if (value.is(Kind::kObject)) fail("'" + std::string(type_name(value)) + "' object is not reversible");
  if (value.is(Kind::kSequence)) {
    const auto& items = value.sequence()->items;
    return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
  }
  const std::vector<Value> items = collect(r, value);
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

Value length(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("length", {});
  const auto count = length_of(r, value);
  if (!count) fail("object of type '" + std::string(type_name(value)) + "' has no len()");
  return Value(*count);
}

Value list(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("list", {});
  return make_list(r.budget(), collect(r, value));
}

Value items(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("items", {});
  return late_stream(r, [&r, value] {
    std::vector<Value> pairs;
    if (value.is_undefined()) return pairs;
    if (!value.is(Kind::kDict)) fail("Can only get item pairs from a mapping.");
    for (const auto& [key, item] : value.dict()->entries) pairs.push_back(make_tuple(r.budget(), {key, item}));
    return pairs;
  });
}

Value reverse(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("reverse", {});
  if (value.is_text()) return get_slice(r, value, Value(), Value(), Value(-1));
  std::vector<Value> all = collect(r, value);
  std::reverse(all.begin(), all.end());
  // Python gives a list only for what has no order of its own.
  return value.is(Kind::kObject) ? make_list(r.budget(), std::move(all)) : stream(r, std::move(all));
}

Value groupby(Runtime& r, const Value& value, const Arguments& a) {
  const auto args = a.bind("groupby", {{"attribute"}, {"default", Value()}, {"case_sensitive", Value(false)}});
  const bool fold = !truthy(r, args[2]);
  const AttributePath key_path(r, args[0], fold, args[1]), shown_path(r, args[0], false, args[1]);
  const std::vector<Value> all = collect(r, value);
  std::vector<Value> keys;
  for (const Value& item : all) keys.push_back(key_path.get(item));
  const std::vector<size_t> order = sorted_order(r, keys, false);
  std::vector<Value> groups;
  for (size_t begin = 0; begin < order.size();) {
    std::vector<Value> members;
    size_t end = begin;
    while (end < order.size() && equals(r.budget(), keys[order[begin]], keys[order[end]]))
      members.push_back(all[order[end++]]);
    if (end == begin) members.push_back(all[order[end++]]);  // a NaN equals nothing
    const Value shown = fold ? shown_path.get(members[0]) : keys[order[begin]];
    groups.push_back(make_list(r.budget(), {shown, make_list(r.budget(), std::move(members))}, SequenceKind::kGroup));
    begin = end;
  }
  return make_list(r.budget(), std::move(groups));
}

Value refuse_random(Runtime&, const Value&, const Arguments&) {
  fail_unsupported("the random filter would make a prompt that differs from run to run");
}

constexpr std::array<Filter, 17> kFilters = {{
    {"batch", batch},
    {"count", length},
    {"dictsort", dictsort},
    {"first", first},
    {"groupby", groupby},
    {"items", items},
    {"last", last},
    {"length", length},
    {"list", list},
    {"max", extreme<true>},
    {"min", extreme<false>},
    {"random", refuse_random},
    {"reverse", reverse},
    {"slice", slice},
    {"sort", sort},
    {"sum", sum},
    {"unique", unique},
}};

}  // namespace

std::span<const Filter> sequence_filters() {
  return kFilters;
}

}  // namespace inferens::jinja
