// Methods of dict, list, tuple, range, int and float.
#include <algorithm>
#include <array>
#include <cmath>

#include "text/jinja/methods.h"

namespace inferens::jinja {
namespace {

Value view_of(Runtime& r, const Dict& dict, SequenceKind kind) {
  std::vector<Value> items;
  items.reserve(dict.entries.size());
  for (const auto& [key, value] : dict.entries) {
    if (kind == SequenceKind::kDictItems) {
      items.push_back(make_tuple(r.budget(), {key, value}));
    } else {
      items.push_back(kind == SequenceKind::kDictKeys ? key : value);
    }
  }
  return make_list(r.budget(), std::move(items), kind);
}

template <SequenceKind kKind>
Value view(Runtime& r, const Value& self, const Arguments& a) {
  (void)a.bind("dict view", {});
  return view_of(r, *self.dict(), kKind);
}

Value get(Runtime& r, const Value& self, const Arguments& a) {
  const auto args = a.bind("get", {{""}, {"", Value()}});
  if (!is_hashable(args[0])) fail("unhashable type: '" + std::string(type_name(args[0])) + "'");
  const Value* found = self.dict()->find(r.budget(), args[0]);
  return found ? *found : args[1];
}

Value copy(Runtime&, const Value& self, const Arguments& a) {
  (void)a.bind("copy", {});
  return self;  // nothing can change it
}

Value fromkeys(Runtime& r, const Value&, const Arguments& a) {
  const auto args = a.bind("fromkeys", {{""}, {"", Value()}});
  DictBuilder dict(r.budget());
  for (Value& key : collect(r, args[0])) dict.set(std::move(key), args[1]);
  return Value(dict.take());
}

Value count(Runtime& r, const Value& self, const Arguments& a) {
  const Value wanted = a.bind("count", {{""}})[0];
  int64_t found = 0;
  for (const Value& item : self.sequence()->items) found += equals(r.budget(), item, wanted) ? 1 : 0;
  return Value(found);
}

Value index(Runtime& r, const Value& self, const Arguments& a) {
  const auto args = a.bind("index", {{""}, {"", Value(0)}, {"", Value(INT64_MAX)}});
  const auto& items = self.sequence()->items;
  const auto length = static_cast<int64_t>(items.size());
  const auto place = [&](const Value& v) {
    if (!v.is_integral()) fail("slice indices must be integers");
    return v.integer() < 0 ? std::max<int64_t>(0, v.integer() < -length ? 0 : v.integer() + length) : v.integer();
  };
  for (int64_t i = place(args[1]); i < std::min(place(args[2]), length); ++i) {
    if (equals(r.budget(), items[static_cast<size_t>(i)], args[0])) return Value(i);
  }
  fail("the value is not in the list");
}

Value is_integer(Runtime&, const Value& self, const Arguments& a) {
  (void)a.bind("is_integer", {});
  return Value(std::isfinite(self.number()) && std::floor(self.number()) == self.number());
}

Value conjugate(Runtime&, const Value& self, const Arguments& a) {
  (void)a.bind("conjugate", {});
  return self.is(Kind::kBool) ? Value(self.integer()) : self;
}

Value bit_length(Runtime&, const Value& self, const Arguments& a) {
  (void)a.bind("bit_length", {});
  int64_t bits = 0;
  for (uint64_t v = self.integer() < 0 ? 0 - static_cast<uint64_t>(self.integer())
                                       : static_cast<uint64_t>(self.integer());
       v; v >>= 1)
    ++bits;
  return Value(bits);
}

struct Entry {
  std::string_view name;
  Method method;
};
constexpr std::array<Entry, 6> kDictMethods = {{{"items", view<SequenceKind::kDictItems>},
                                                {"keys", view<SequenceKind::kDictKeys>},
                                                {"values", view<SequenceKind::kDictValues>},
                                                {"get", get},
                                                {"copy", copy},
                                                {"fromkeys", fromkeys}}};
constexpr std::array<Entry, 2> kSequenceMethods = {{{"count", count}, {"index", index}}};
constexpr std::array<Entry, 2> kIntMethods = {{{"bit_length", bit_length}, {"conjugate", conjugate}}};
constexpr std::array<Entry, 2> kFloatMethods = {{{"is_integer", is_integer}, {"conjugate", conjugate}}};

template <size_t N>
Method find_in(const std::array<Entry, N>& entries, std::string_view name) {
  const auto it = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.name == name; });
  return it == entries.end() ? nullptr : it->method;
}

}  // namespace

Method find_container_method(const Value& self, std::string_view name) {
  if (self.is(Kind::kDict)) return find_in(kDictMethods, name);
  if (self.is_integral()) return find_in(kIntMethods, name);
  if (self.is(Kind::kFloat)) return find_in(kFloatMethods, name);
  if (!self.is(Kind::kSequence)) return nullptr;
  const SequenceKind kind = self.sequence()->kind;
  if (kind == SequenceKind::kDictKeys || kind == SequenceKind::kDictValues || kind == SequenceKind::kDictItems)
    return nullptr;
  if (kind == SequenceKind::kList && name == "copy") return copy;
  return find_in(kSequenceMethods, name);
}

Method find_method(const Value& self, std::string_view name) {
  return self.is_text() ? find_string_method(name) : find_container_method(self, name);
}

bool is_unsafe_attribute(const Value& self, std::string_view name) {
  static constexpr std::array<std::string_view, 8> kList = {"append", "clear", "pop",    "reverse",
                                                            "insert", "sort",  "extend", "remove"};
  static constexpr std::array<std::string_view, 5> kDict = {"clear", "pop", "popitem", "setdefault", "update"};
  const auto in = [&](const auto& names) { return std::find(names.begin(), names.end(), name) != names.end(); };
  if (self.is(Kind::kDict)) return in(kDict);
  return self.is(Kind::kSequence) && self.sequence()->kind == SequenceKind::kList && in(kList);
}

}  // namespace inferens::jinja
