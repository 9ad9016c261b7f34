// The tests of Jinja.
#include "text/jinja/tests.h"

#include <algorithm>
#include <array>

#include "text/jinja/filters.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"

namespace inferens::jinja {
namespace {

template <Kind... kKinds>
bool is_kind(Runtime&, const Value& value, const Arguments& a) {
  (void)a.bind("test", {});
  return (value.is(kKinds) || ...);
}

template <Operator kOperator>
bool compares(Runtime& r, const Value& value, const Arguments& a) {
  return compare_with(r, kOperator, value, a.bind("test", {{"other"}})[0]);
}

bool has_remainder(Runtime& r, const Value& value, const Value& divisor, int64_t remainder) {
  return equals(r.budget(), binary(r, Operator::kMod, value, divisor), Value(remainder));
}
bool odd(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("odd", {});
  return has_remainder(r, value, Value(2), 1);
}
bool even(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("even", {});
  return has_remainder(r, value, Value(2), 0);
}
bool divisible_by(Runtime& r, const Value& value, const Arguments& a) {
  return has_remainder(r, value, a.bind("divisibleby", {{"num"}})[0], 0);
}

bool is_defined(Runtime&, const Value& value, const Arguments& a) {
  (void)a.bind("defined", {});
  return !value.is_undefined();
}
template <bool kWanted>
bool is_bool(Runtime&, const Value& value, const Arguments& a) {
  (void)a.bind("test", {});
  return value.is(Kind::kBool) && value.boolean() == kWanted;
}
bool is_sequence(Runtime&, const Value& value, const Arguments& a) {
  (void)a.bind("sequence", {});
  if (value.is_undefined() || value.is_text() || value.is(Kind::kDict)) return true;
  if (!value.is(Kind::kSequence)) return false;
  const SequenceKind kind = value.sequence()->kind;
  return kind == SequenceKind::kList || kind == SequenceKind::kTuple || kind == SequenceKind::kRange ||
         kind == SequenceKind::kGroup;
}
bool is_iterable_test(Runtime&, const Value& value, const Arguments& a) {
  (void)a.bind("iterable", {});
  return is_iterable(value);
}
bool is_callable(Runtime&, const Value& value, const Arguments& a) {
  (void)a.bind("callable", {});
  return value.is_undefined() || (value.is(Kind::kObject) && value.object()->is_callable());
}
bool is_escaped(Runtime&, const Value& value, const Arguments& a) {
  (void)a.bind("escaped", {});
  return value.is_text() && value.text().is_markup();
}
bool string_method_says(const char* method, Runtime& r, const Value& value) {
  return find_string_method(method)(r, Value(to_text(r, value)), Arguments()).boolean();
}
bool is_lower(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("lower", {});
  return string_method_says("islower", r, value);
}
bool is_upper(Runtime& r, const Value& value, const Arguments& a) {
  (void)a.bind("upper", {});
  return string_method_says("isupper", r, value);
}
// Identity: what Python shares is the same object; lists, dicts and objects are compared by address.
bool is_same(Runtime& r, const Value& value, const Arguments& a) {
  const Value other = a.bind("sameas", {{"other"}})[0];
  if (value.kind() != other.kind()) return false;
  switch (value.kind()) {
    case Kind::kSequence:
      return value.sequence() == other.sequence();
    case Kind::kDict:
      return value.dict() == other.dict();
    default:
      return equals(r.budget(), value, other);
  }
}
bool is_in(Runtime& r, const Value& value, const Arguments& a) {
  return contains(r, a.bind("in", {{"seq"}})[0], value);
}
bool is_filter(Runtime&, const Value& value, const Arguments& a) {
  (void)a.bind("filter", {});
  return value.is_text() && find_filter(value.text().view());
}
bool is_test(Runtime&, const Value& value, const Arguments& a) {
  (void)a.bind("test", {});
  return value.is_text() && find_test(value.text().view());
}

constexpr std::array<Test, 39> kTests = {{
    {"!=", compares<Operator::kNe>},
    {"<", compares<Operator::kLt>},
    {"<=", compares<Operator::kLe>},
    {"==", compares<Operator::kEq>},
    {">", compares<Operator::kGt>},
    {">=", compares<Operator::kGe>},
    {"boolean", is_kind<Kind::kBool>},
    {"callable", is_callable},
    {"defined", is_defined},
    {"divisibleby", divisible_by},
    {"eq", compares<Operator::kEq>},
    {"equalto", compares<Operator::kEq>},
    {"escaped", is_escaped},
    {"even", even},
    {"false", is_bool<false>},
    {"filter", is_filter},
    {"float", is_kind<Kind::kFloat>},
    {"ge", compares<Operator::kGe>},
    {"greaterthan", compares<Operator::kGt>},
    {"gt", compares<Operator::kGt>},
    {"in", is_in},
    {"integer", is_kind<Kind::kInt>},
    {"iterable", is_iterable_test},
    {"le", compares<Operator::kLe>},
    {"lessthan", compares<Operator::kLt>},
    {"lower", is_lower},
    {"lt", compares<Operator::kLt>},
    {"mapping", is_kind<Kind::kDict>},
    {"ne", compares<Operator::kNe>},
    {"none", is_kind<Kind::kNone>},
    {"number", is_kind<Kind::kBool, Kind::kInt, Kind::kFloat>},
    {"odd", odd},
    {"sameas", is_same},
    {"sequence", is_sequence},
    {"string", is_kind<Kind::kText>},
    {"test", is_test},
    {"true", is_bool<true>},
    {"undefined", is_kind<Kind::kUndefined>},
    {"upper", is_upper},
}};

}  // namespace

const Test* find_test(std::string_view name) {
  const auto* it = std::find_if(kTests.begin(), kTests.end(), [&](const Test& t) { return t.name == name; });
  return it == kTests.end() ? nullptr : it;
}

}  // namespace inferens::jinja
