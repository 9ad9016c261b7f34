// Filters that take the name of another filter or test: map, select, reject; and default and attr.
#include <algorithm>
#include <array>

#include "text/jinja/attribute_path.h"
#include "text/jinja/filters.h"
#include "text/jinja/operators.h"
#include "text/jinja/tests.h"

namespace inferens::jinja {
namespace {

Value default_filter(Runtime& r, const Value& value, const Arguments& a) {
  const auto args = a.bind("default", {{"default_value", Value(Text())}, {"boolean", Value(false)}});
  return value.is_undefined() || (truthy(r, args[1]) && !truthy(r, value)) ? args[0] : value;
}

Value attr(Runtime& r, const Value& value, const Arguments& a) {
  const Value name = a.bind("attr", {{"name"}})[0];
  if (!name.is_text()) fail("attribute name must be string, not '" + std::string(type_name(name)) + "'");
  if (auto attribute = find_attribute(r, value, name.text().view())) return *attribute;
  return Value::undefined("'" + std::string(type_name(value)) + " object' has no attribute '" + name.text().str() +
                          "'");
}

using Transform = std::function<Value(const Value&)>;

Transform make_transform(Runtime& r, const Arguments& a) {
  const bool by_attribute =
      a.positional.empty() && !a.keyword.empty() &&
      std::any_of(a.keyword.begin(), a.keyword.end(), [](const auto& k) { return k.first.view() == "attribute"; });
  if (by_attribute) {
    const auto args = a.bind("map", {{"attribute"}, {"default", Value()}});
    return [path = AttributePath(r, args[0], false, args[1])](const Value& item) { return path.get(item); };
  }
  if (a.positional.empty()) fail("map requires a filter argument");
  const Filter* filter = a.positional[0].is_text() ? find_filter(a.positional[0].text().view()) : nullptr;
  if (!filter) fail("no filter of the name that map was given");
  Arguments rest = a;
  rest.positional.erase(rest.positional.begin());
  return [&r, filter, rest = std::move(rest)](const Value& item) { return filter->apply(r, item, rest); };
}

// The stream of what `keep` lets through, prepared when its first item is asked for.
template <class Prepare>
Value lazy(Runtime& r, const Value& value, Prepare prepare) {
  return Value(r.make<Generator>(
      [&r, value, prepare, started = false, source = Next(), step = std::function<bool(Value&)>()](Value& out) mutable {
        if (!started) {
          started = true;
          if (!truthy(r, value)) return false;
          step = prepare();
          source = iterate(r, value);
        }
        if (!source) return false;
        while (source(out)) {
          r.budget().step();
          if (step(out)) return true;
        }
        return false;
      }));
}

Value map(Runtime& r, const Value& value, const Arguments& a) {
  return lazy(r, value, [&r, a]() -> std::function<bool(Value&)> {
    return [transform = make_transform(r, a)](Value& item) {
      item = transform(item);
      return true;
    };
  });
}

std::function<bool(Value&)> make_selector(Runtime& r, const Arguments& a, bool by_attribute, bool keep) {
  size_t at = 0;
  AttributePath path(r, Value());
  if (by_attribute) {
    if (a.positional.empty()) fail("missing parameter for attribute name");
    path = AttributePath(r, a.positional[at++]);
  }
  if (at >= a.positional.size()) {
    return [&r, path, keep](Value& item) { return truthy(r, path.get(item)) == keep; };
  }
  const Test* test = a.positional[at].is_text() ? find_test(a.positional[at].text().view()) : nullptr;
  if (!test) fail("no test of the name that select or reject was given");
  Arguments rest = a;
  rest.positional.erase(rest.positional.begin(), rest.positional.begin() + static_cast<ptrdiff_t>(at) + 1);
  return [&r, path, keep, test, rest = std::move(rest)](Value& item) {
    return test->apply(r, path.get(item), rest) == keep;
  };
}

template <bool kByAttribute, bool kKeep>
Value select(Runtime& r, const Value& value, const Arguments& a) {
  return lazy(r, value, [&r, a] { return make_selector(r, a, kByAttribute, kKeep); });
}

constexpr std::array<Filter, 8> kFilters = {{
    {"attr", attr},
    {"d", default_filter},
    {"default", default_filter},
    {"map", map},
    {"reject", select<false, false>},
    {"rejectattr", select<true, false>},
    {"select", select<false, true>},
    {"selectattr", select<true, true>},
}};

}  // namespace

std::span<const Filter> selection_filters() {
  return kFilters;
}

}  // namespace inferens::jinja
