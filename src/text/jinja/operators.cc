// Arithmetic with Python's rounding and types. Integers have 64 bits; what would not fit is an error, never wrong.
#include "text/jinja/operators.h"

#include <cmath>

#include "base/checked.h"
#include "text/jinja/format.h"
#include "text/jinja/methods.h"
#include "text/jinja/print.h"

namespace inferens::jinja {
namespace {

std::string_view spelling(Operator op) {
  switch (op) {
    case Operator::kAdd:
      return "+";
    case Operator::kSub:
      return "-";
    case Operator::kMul:
      return "*";
    case Operator::kDiv:
      return "/";
    case Operator::kFloorDiv:
      return "//";
    case Operator::kMod:
      return "%";
    case Operator::kPow:
      return "**";
    default:
      return "?";
  }
}

int64_t checked(std::optional<int64_t> result) {
  if (!result) fail("an integer does not fit in 64 bits");
  return *result;
}

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) fail("integer division or modulo by zero");
  if (b == -1) return checked(checked_mul<int64_t>(a, -1));
  const int64_t quotient = a / b;
  return quotient - ((a % b != 0) && ((a < 0) != (b < 0)));
}

int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0) fail("integer division or modulo by zero");
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && ((rest < 0) != (b < 0)) ? rest + b : rest;
}

double float_mod(double a, double b) {
  if (b == 0) fail("float modulo");
  double rest = std::fmod(a, b);
  if (rest != 0) {
    if ((b < 0) != (rest < 0)) rest += b;
  } else {
    rest = std::copysign(0.0, b);
  }
  return rest;
}

double float_floor_div(double a, double b) {
  if (b == 0) fail("float floor division by zero");
  const double rest = float_mod(a, b);
  double quotient = (a - rest) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floored = std::floor(quotient);
  return quotient - floored > 0.5 ? floored + 1 : floored;
}

Value integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) fail("0.0 cannot be raised to a negative power");
    return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  if (base == 0 || base == 1) return Value(exponent == 0 ? int64_t{1} : base);
  if (base == -1) return Value(exponent % 2 == 0 ? 1 : -1);
  int64_t result = 1;
  for (; exponent > 0; --exponent) result = checked(checked_mul(result, base));
  return Value(result);
}

Value integer_binary(Operator op, int64_t a, int64_t b) {
  switch (op) {
    case Operator::kAdd:
      return Value(checked(checked_add(a, b)));
    case Operator::kSub: {
      int64_t result = 0;
      if (__builtin_sub_overflow(a, b, &result)) checked(std::nullopt);
      return Value(result);
    }
    case Operator::kMul:
      return Value(checked(checked_mul(a, b)));
    case Operator::kDiv:
      if (b == 0) fail("division by zero");
      return Value(static_cast<double>(a) / static_cast<double>(b));
    case Operator::kFloorDiv:
      return Value(floor_div(a, b));
    case Operator::kMod:
      return Value(floor_mod(a, b));
    default:
      return integer_power(a, b);
  }
}

Value float_binary(Operator op, double a, double b) {
  switch (op) {
    case Operator::kAdd:
      return Value(a + b);
    case Operator::kSub:
      return Value(a - b);
    case Operator::kMul:
      return Value(a * b);
    case Operator::kDiv:
      if (b == 0) fail("float division by zero");
      return Value(a / b);
    case Operator::kFloorDiv:
      return Value(float_floor_div(a, b));
    case Operator::kMod:
      return Value(float_mod(a, b));
    default:
      break;
  }
  if (a == 0 && b < 0) fail("0.0 cannot be raised to a negative power");
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) fail("Numerical result out of range");
  if (a < 0 && std::isfinite(a) && b != std::floor(b)) fail_unsupported("complex numbers are not supported");
  return Value(result);
}

Value add_texts(Runtime& runtime, const Text& left, const Text& right) {
  const bool markup = left.is_markup() || right.is_markup();
  TextBuilder out(runtime.budget());
  out.append(markup ? escape(runtime, Value(left)) : left);
  out.append(markup ? escape(runtime, Value(right)) : right);
  return Value(out.take().as_markup(markup));
}

bool is_plain_sequence(const Value& value) {
  if (!value.is(Kind::kSequence)) return false;
  const SequenceKind kind = value.sequence()->kind;
  return kind == SequenceKind::kList || kind == SequenceKind::kTuple || kind == SequenceKind::kGroup;
}

SequenceKind plain_kind(const Value& value) {
  return value.sequence()->kind == SequenceKind::kList ? SequenceKind::kList : SequenceKind::kTuple;
}

Value repeat(Runtime& runtime, const Value& value, int64_t count) {
  if (value.is_text()) {
    TextBuilder out(runtime.budget());
    if (count > 0) out.append_repeated(value.text(), static_cast<uint64_t>(count));
    return Value(out.take().as_markup(value.text().is_markup()));
  }
  const auto& items = value.sequence()->items;
  const size_t times = items.empty() || count < 0 ? 0 : static_cast<size_t>(count);
  const auto bytes = checked_mul<uint64_t>(times, items.size() * sizeof(Value));
  runtime.budget().memory(bytes.value_or(UINT64_MAX));
  std::vector<Value> result;
  result.reserve(times * items.size());
  for (size_t i = 0; i < times; ++i) result.insert(result.end(), items.begin(), items.end());
  return make_list(runtime.budget(), std::move(result), plain_kind(value));
}

// What + and * mean beyond numbers; nullopt when Python has no meaning for it.
std::optional<Value> sequence_binary(Runtime& runtime, Operator op, const Value& left, const Value& right) {
  if (op == Operator::kAdd) {
    if (left.is_text() && right.is_text()) return add_texts(runtime, left.text(), right.text());
    if (is_plain_sequence(left) && is_plain_sequence(right) && plain_kind(left) == plain_kind(right)) {
      std::vector<Value> items = left.sequence()->items;
      items.insert(items.end(), right.sequence()->items.begin(), right.sequence()->items.end());
      return make_list(runtime.budget(), std::move(items), plain_kind(left));
    }
  }
  if (op == Operator::kMul) {
    const auto repeatable = [](const Value& v) { return v.is_text() || is_plain_sequence(v); };
    if (repeatable(left) && right.is_integral()) return repeat(runtime, left, right.integer());
    if (repeatable(right) && left.is_integral()) return repeat(runtime, right, left.integer());
  }
  return std::nullopt;
}

struct SliceBounds {
  int64_t start, stop, step;
};

// Python's slice.indices.
SliceBounds slice_bounds(int64_t length, const Value& start, const Value& stop, const Value& step) {
  const auto index = [](const Value& v) {
    if (!v.is_integral()) fail("slice indices must be integers or None");
    return v.integer();
  };
  SliceBounds bounds{0, 0, step.is_none() ? 1 : index(step)};
  if (bounds.step == 0) fail("slice step cannot be zero");
  const bool back = bounds.step < 0;
  const int64_t lowest = back ? -1 : 0, highest = back ? length - 1 : length;
  const auto clamp = [&](const Value& v, int64_t otherwise) {
    if (v.is_none()) return otherwise;
    int64_t i = index(v);
    if (i < 0) i = i < -length ? lowest : i + length;
    return i < lowest ? lowest : i > highest ? highest : i;
  };
  bounds.start = clamp(start, back ? highest : lowest);
  bounds.stop = clamp(stop, back ? lowest : highest);
  return bounds;
}

template <class Visit>
void for_each_index(const SliceBounds& bounds, Visit&& visit) {
  for (int64_t i = bounds.start; bounds.step > 0 ? i < bounds.stop : i > bounds.stop;) {
    visit(static_cast<size_t>(i));
    if (__builtin_add_overflow(i, bounds.step, &i)) break;
  }
}

Value slice_string(Runtime& runtime, const Text& text, const SliceBounds& bounds) {
  if (!text.is_ascii()) runtime.budget().step(text.size() / 64);
  if (bounds.step == 1) {
    if (bounds.start >= bounds.stop) return Value(Text().as_markup(text.is_markup()));
    return Value(slice_text(runtime, text, text.byte_of(static_cast<size_t>(bounds.start)),
                            text.byte_of(static_cast<size_t>(bounds.stop))));
  }
  std::vector<Character> characters;
  runtime.budget().step(text.length());
  for_each_character(text.view(), [&](const Character& c) { characters.push_back(c); });
  TextBuilder out(runtime.budget());
  for_each_index(bounds, [&](size_t i) { out.append(text, characters[i].begin, characters[i].end); });
  return Value(out.take().as_markup(text.is_markup()));
}

Value slice_sequence(Runtime& runtime, const Sequence& list, const SliceBounds& bounds) {
  std::vector<Value> items;
  for_each_index(bounds, [&](size_t i) { items.push_back(list.items[i]); });
  if (list.kind == SequenceKind::kRange) {
    const int64_t start = checked(checked_add(list.start, checked(checked_mul(bounds.start, list.step))));
    const int64_t stop = checked(checked_add(list.start, checked(checked_mul(bounds.stop, list.step))));
    return make_range(runtime.budget(), start, stop, checked(checked_mul(list.step, bounds.step)));
  }
  return make_list(runtime.budget(), std::move(items),
                   list.kind == SequenceKind::kList ? SequenceKind::kList : SequenceKind::kTuple);
}

bool is_view(const Value& value) {
  if (!value.is(Kind::kSequence)) return false;
  const SequenceKind kind = value.sequence()->kind;
  return kind == SequenceKind::kDictKeys || kind == SequenceKind::kDictValues || kind == SequenceKind::kDictItems;
}

// obj[key] alone; nullopt where Python raises TypeError or LookupError.
std::optional<Value> find_item(Runtime& runtime, const Value& object, const Value& key) {
  if (object.is(Kind::kDict)) {
    if (!is_hashable(key)) return std::nullopt;
    const Value* found = object.dict()->find(runtime.budget(), key);
    if (!found) return std::nullopt;
    return *found;
  }
  const bool indexable = object.is_text() || (object.is(Kind::kSequence) && !is_view(object));
  if (!indexable || !key.is_integral()) return std::nullopt;
  const int64_t length = *length_of(runtime, object);
  int64_t index = key.integer();
  if (index < 0) index += length;
  if (index < 0 || index >= length) return std::nullopt;
  if (!object.is_text()) return object.sequence()->items[static_cast<size_t>(index)];
  const Text& text = object.text();
  if (!text.is_ascii()) runtime.budget().step(static_cast<uint64_t>(index) / 16);
  const size_t begin = text.byte_of(static_cast<size_t>(index));
  return Value(slice_text(runtime, text, begin, begin + decode_utf8(text.view(), begin).length));
}

std::string missing_message(Runtime& runtime, const Value& object, const Value& key) {
  const std::string owner = object.is_none() ? "'None'" : "'" + std::string(type_name(object)) + " object'";
  TextBuilder key_text(runtime.budget());
  append_repr(runtime, key, key_text);
  return owner + (key.is_text() ? " has no attribute " : " has no element ") + key_text.take().str();
}

Value unsafe_attribute(const Value& object, std::string_view name) {
  return Value::undefined("access to attribute '" + std::string(name) + "' of '" + std::string(type_name(object)) +
                          "' object is unsafe.");
}

std::optional<Value> plain_attribute(const Value& object, std::string_view name) {
  if (object.is_integral()) {
    if (name == "real" || name == "numerator") return Value(object.integer());
    if (name == "imag") return Value(0);
    if (name == "denominator") return Value(1);
  }
  if (object.is(Kind::kFloat)) {
    if (name == "real") return object;
    if (name == "imag") return Value(0.0);
  }
  if (object.is(Kind::kSequence) && object.sequence()->kind == SequenceKind::kRange) {
    if (name == "start") return Value(object.sequence()->start);
    if (name == "stop") return Value(object.sequence()->stop);
    if (name == "step") return Value(object.sequence()->step);
  }
  if (object.is(Kind::kSequence) && object.sequence()->kind == SequenceKind::kGroup) {
    if (name == "grouper") return object.sequence()->items[0];
    if (name == "list") return object.sequence()->items[1];
  }
  return std::nullopt;
}

}  // namespace

Value unary(Runtime& runtime, Operator op, const Value& operand) {
  if (op == Operator::kNot) return Value(!truthy(runtime, operand));
  if (operand.is_undefined()) fail_undefined(operand);
  if (!operand.is_number())
    fail("bad operand type for unary " + std::string(op == Operator::kNeg ? "-" : "+") + ": '" +
         std::string(type_name(operand)) + "'");
  Value result;
  if (operand.is(Kind::kFloat)) {
    result = Value(op == Operator::kNeg ? -operand.number() : operand.number());
  } else {
    result = Value(op == Operator::kNeg ? checked(checked_mul<int64_t>(operand.integer(), -1)) : operand.integer());
  }
  return std::move(result).marked_input(operand.from_input());
}

Value binary(Runtime& runtime, Operator op, const Value& left, const Value& right) {
  // "…" % undefined formats it; every other use of undefined is an error.
  if (op == Operator::kMod && left.is_text()) return Value(format_percent(runtime, left.text(), right));
  if (left.is_undefined()) fail_undefined(left);
  if (right.is_undefined()) fail_undefined(right);
  if (left.is_number() && right.is_number()) {
    const bool integral = left.is_integral() && right.is_integral();
    Value result = integral ? integer_binary(op, left.integer(), right.integer())
                            : float_binary(op, left.number(), right.number());
    return std::move(result).marked_input(left.from_input() || right.from_input());
  }
  if (auto result = sequence_binary(runtime, op, left, right)) return *result;
  fail("unsupported operand type(s) for " + std::string(spelling(op)) + ": '" + std::string(type_name(left)) +
       "' and '" + std::string(type_name(right)) + "'");
}

bool compare_with(Runtime& runtime, Operator op, const Value& left, const Value& right) {
  Budget& budget = runtime.budget();
  switch (op) {
    case Operator::kEq:
      return equals(budget, left, right);
    case Operator::kNe:
      return !equals(budget, left, right);
    case Operator::kIn:
      return contains(runtime, right, left);
    case Operator::kNotIn:
      return !contains(runtime, right, left);
    default:
      break;
  }
  const auto order = compare(budget, left, right);
  if (!order) return false;
  switch (op) {
    case Operator::kLt:
      return *order < 0;
    case Operator::kLe:
      return *order <= 0;
    case Operator::kGt:
      return *order > 0;
    default:
      return *order >= 0;
  }
}

std::optional<Value> find_attribute(Runtime& runtime, const Value& object, std::string_view name) {
  if (object.is_undefined()) fail_undefined(object);
  if (name.starts_with("__") || is_unsafe_attribute(object, name)) return unsafe_attribute(object, name);
  if (object.is(Kind::kObject)) return object.object()->attribute(runtime, name);
  if (const Method method = find_method(object, name)) {
    return Value(runtime.make<Function>(
        [object, method](Runtime& r, const Arguments& arguments) { return method(r, object, arguments); }));
  }
  return plain_attribute(object, name);
}

Value get_attribute(Runtime& runtime, const Value& object, std::string_view name) {
  // A dict's own key may start with underscores; Python's attribute of that name hides it only where there is one.
  if (!(object.is(Kind::kDict) && name.starts_with("__") && object.dict()->find(name))) {
    if (auto attribute = find_attribute(runtime, object, name)) return *attribute;
  }
  const Value key(Text::trusted(std::string(name)));
  if (auto item = find_item(runtime, object, key)) return *item;
  return Value::undefined(missing_message(runtime, object, key));
}

Value get_item(Runtime& runtime, const Value& object, const Value& key) {
  if (object.is_undefined()) fail_undefined(object);
  if (auto item = find_item(runtime, object, key)) return *item;
  if (key.is_text()) {
    if (auto attribute = find_attribute(runtime, object, key.text().view())) return *attribute;
  }
  return Value::undefined(missing_message(runtime, object, key));
}

Value get_slice(Runtime& runtime, const Value& object, const Value& start, const Value& stop, const Value& step) {
  if (object.is_undefined()) fail_undefined(object);
  const bool sliceable = object.is_text() || (object.is(Kind::kSequence) && !is_view(object));
  if (!sliceable) fail("'" + std::string(type_name(object)) + "' object cannot be sliced");
  const SliceBounds bounds = slice_bounds(*length_of(runtime, object), start, stop, step);
  return object.is_text() ? slice_string(runtime, object.text(), bounds)
                          : slice_sequence(runtime, *object.sequence(), bounds);
}

}  // namespace inferens::jinja
