// Making, comparing, measuring and walking values, as Python would.
#include "text/jinja/value.h"

#include <algorithm>
#include <cmath>

#include "text/jinja/runtime.h"

namespace inferens::jinja {
namespace {

constexpr uint64_t kEntryMemory = 2 * sizeof(Value) + 64;  // of a dict, with its place in the index

int depth_of(const Value& value) {
  if (value.is(Kind::kSequence)) return value.sequence()->depth;
  if (value.is(Kind::kDict)) return value.dict()->depth;
  return 0;
}

int deeper(int depth, const Value& child) {
  const int result = std::max(depth, depth_of(child) + 1);
  if (result > kMaxValueDepth) fail_limit("lists and dicts are nested more than 100 deep");
  return result;
}

bool is_tuple(const Value& value) {
  return value.is(Kind::kSequence) &&
         (value.sequence()->kind == SequenceKind::kTuple || value.sequence()->kind == SequenceKind::kGroup);
}

// Lists equal lists, tuples tuples, and so on: Python never mixes them.
bool same_family(const Sequence& a, const Sequence& b) {
  const auto family = [](SequenceKind k) {
    switch (k) {
      case SequenceKind::kGroup:
        return SequenceKind::kTuple;
      case SequenceKind::kDictItems:
        return SequenceKind::kDictKeys;
      default:
        return k;
    }
  };
  return family(a.kind) == family(b.kind);
}

std::optional<int> compare_numbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return a.integer() < b.integer() ? -1 : a.integer() > b.integer() ? 1 : 0;
  const double x = a.number(), y = b.number();
  if (std::isnan(x) || std::isnan(y)) return std::nullopt;
  return x < y ? -1 : x > y ? 1 : 0;
}

}  // namespace

Value Value::missing() {
  Value v;
  v.storage_ = Missing{};
  return v;
}

Value Value::undefined(std::string message) {
  Value v;
  v.storage_ = std::make_shared<const std::string>(std::move(message));
  return v;
}

const Value* Dict::find(std::string_view key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : &entries[found->second].second;
}

const Value* Dict::find(Budget& budget, const Value& key) const {
  if (key.is_text()) {
    budget.step(key.text().size() / 64);
    return find(key.text().view());
  }
  for (const Entry& entry : entries) {
    if (!entry.first.is_text() && equals(budget, entry.first, key)) return &entry.second;
  }
  return nullptr;
}

void DictBuilder::set(Value key, Value value) {
  if (!is_hashable(key)) fail("unhashable type: '" + std::string(type_name(key)) + "'");
  budget_.step();
  budget_.memory(kEntryMemory);
  dict_->depth = deeper(dict_->depth, value);
  if (const Value* old = dict_->find(budget_, key)) {
    *const_cast<Value*>(old) = std::move(value);  // the dict is still ours alone
    return;
  }
  dict_->entries.emplace_back(std::move(key), std::move(value));
  const Value& stored = dict_->entries.back().first;
  if (stored.is_text()) dict_->index_.emplace(stored.text().view(), dict_->entries.size() - 1);
}

DictPtr DictBuilder::take() {
  DictPtr result = std::move(dict_);
  dict_ = std::make_shared<Dict>();
  return result;
}

Value Object::call(Runtime&, const Arguments&) {
  fail("'" + std::string(type_name()) + "' object is not callable");
}
Next Object::iterate(Runtime&) {
  fail("'" + std::string(type_name()) + "' object is not iterable");
}

Value make_list(Budget& budget, std::vector<Value> items, SequenceKind kind) {
  budget.step(items.size());
  budget.memory(sizeof(Sequence) + items.size() * sizeof(Value));
  auto list = std::make_shared<Sequence>();
  list->kind = kind;
  for (const Value& item : items) list->depth = deeper(list->depth, item);
  list->items = std::move(items);
  return Value(SequencePtr(std::move(list)));
}

Value make_range(Budget& budget, int64_t start, int64_t stop, int64_t step) {
  if (step == 0) fail("range() arg 3 must not be zero");
  std::vector<Value> items;
  for (int64_t at = start; step > 0 ? at < stop : at > stop;) {
    if (items.size() == kMaxRangeItems)
      fail("Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).");
    items.emplace_back(at);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  budget.step(items.size());
  budget.memory(sizeof(Sequence) + items.size() * sizeof(Value));
  auto range = std::make_shared<Sequence>();
  range->kind = SequenceKind::kRange;
  range->items = std::move(items);
  range->start = start;
  range->stop = stop;
  range->step = step;
  return Value(SequencePtr(std::move(range)));
}

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kText:
      return value.text().is_markup() ? "Markup" : "str";
    case Kind::kDict:
      return "dict";
    case Kind::kObject:
      return value.object()->type_name();
    case Kind::kSequence:
      break;
  }
  switch (value.sequence()->kind) {
    case SequenceKind::kList:
      return "list";
    case SequenceKind::kTuple:
      return "tuple";
    case SequenceKind::kRange:
      return "range";
    case SequenceKind::kDictKeys:
      return "dict_keys";
    case SequenceKind::kDictValues:
      return "dict_values";
    case SequenceKind::kDictItems:
      return "dict_items";
    case SequenceKind::kGroup:
      return "_GroupTuple";
  }
  return "object";
}

void fail_undefined(const Value& value) {
  fail(value.undefined_message());
}

bool truthy(Runtime& runtime, const Value& value) {
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
      return value.boolean();
    case Kind::kInt:
      return value.integer() != 0;
    case Kind::kFloat:
      return value.number() != 0;
    case Kind::kText:
      return !value.text().empty();
    case Kind::kSequence:
      return !value.sequence()->items.empty();
    case Kind::kDict:
      return !value.dict()->entries.empty();
    case Kind::kObject:
      return value.object()->length(runtime).value_or(1) != 0;
  }
  return false;
}

bool equals(Budget& budget, const Value& a, const Value& b) {
  budget.step();
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kText:
      if (a.text().size() != b.text().size()) return false;
      budget.step(a.text().size() / 64);
      return a.text().view() == b.text().view();
    case Kind::kSequence: {
      const Sequence &x = *a.sequence(), &y = *b.sequence();
      if (&x == &y) return true;
      if (x.kind == SequenceKind::kDictValues || !same_family(x, y) || x.items.size() != y.items.size()) return false;
      for (size_t i = 0; i < x.items.size(); ++i) {
        if (!equals(budget, x.items[i], y.items[i])) return false;
      }
      return true;
    }
    case Kind::kDict: {
      if (a.dict() == b.dict()) return true;
      if (a.dict()->entries.size() != b.dict()->entries.size()) return false;
      for (const auto& [key, value] : a.dict()->entries) {
        const Value* other = b.dict()->find(budget, key);
        if (!other || !equals(budget, value, *other)) return false;
      }
      return true;
    }
    case Kind::kObject:
      return a.object() == b.object();
    default:
      return true;  // None and Undefined equal their like
  }
}

std::optional<int> compare(Budget& budget, const Value& a, const Value& b) {
  budget.step();
  if (a.is_undefined()) fail_undefined(a);
  if (b.is_undefined()) fail_undefined(b);
  if (a.is_number() && b.is_number()) return compare_numbers(a, b);
  // UTF-8 order is code point order.
  if (a.is_text() && b.is_text()) {
    budget.step(a.text().size() / 64);
    return a.text().view().compare(b.text().view());
  }
  if (a.is(Kind::kSequence) && b.is(Kind::kSequence)) {
    const Sequence &x = *a.sequence(), &y = *b.sequence();
    const bool ordered =
        (x.kind == SequenceKind::kList && y.kind == SequenceKind::kList) || (is_tuple(a) && is_tuple(b));
    if (ordered) {
      for (size_t i = 0; i < std::min(x.items.size(), y.items.size()); ++i) {
        if (!equals(budget, x.items[i], y.items[i])) return compare(budget, x.items[i], y.items[i]);
      }
      return x.items.size() < y.items.size() ? -1 : x.items.size() > y.items.size() ? 1 : 0;
    }
  }
  fail("'<' not supported between instances of '" + std::string(type_name(a)) + "' and '" + std::string(type_name(b)) +
       "'");
}

bool is_hashable(const Value& value) {
  if (value.is(Kind::kDict)) return false;
  if (!value.is(Kind::kSequence)) return true;
  if (value.sequence()->kind == SequenceKind::kRange) return true;
  if (!is_tuple(value)) return false;
  return std::all_of(value.sequence()->items.begin(), value.sequence()->items.end(), is_hashable);
}

std::optional<int64_t> length_of(Runtime& runtime, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return 0;
    case Kind::kText:
      return static_cast<int64_t>(value.text().length());
    case Kind::kSequence:
      return static_cast<int64_t>(value.sequence()->items.size());
    case Kind::kDict:
      return static_cast<int64_t>(value.dict()->entries.size());
    case Kind::kObject:
      return value.object()->length(runtime);
    default:
      return std::nullopt;
  }
}

bool is_iterable(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kText:
    case Kind::kSequence:
    case Kind::kDict:
      return true;
    case Kind::kObject:
      return value.object()->is_iterable();
    default:
      return false;
  }
}

Next iterate(Runtime& runtime, const Value& value) {
  Budget& budget = runtime.budget();
  switch (value.kind()) {
    case Kind::kUndefined:
      return [](Value&) { return false; };
    case Kind::kText:
      return [text = value.text(), at = size_t{0}, &budget](Value& out) mutable {
        if (at >= text.size()) return false;
        budget.step();
        const size_t length = decode_utf8(text.view(), at).length;
        TextBuilder builder(budget);
        builder.append(text, at, at + length);
        at += length;
        out = Value(builder.take());
        return true;
      };
    case Kind::kSequence:
      return [list = value.sequence(), at = size_t{0}, &budget](Value& out) mutable {
        if (at >= list->items.size()) return false;
        budget.step();
        out = list->items[at++];
        return true;
      };
    case Kind::kDict:
      return [dict = value.dict(), at = size_t{0}, &budget](Value& out) mutable {
        if (at >= dict->entries.size()) return false;
        budget.step();
        out = dict->entries[at++].first;
        return true;
      };
    case Kind::kObject:
      return value.object()->iterate(runtime);
    default:
      fail("'" + std::string(type_name(value)) + "' object is not iterable");
  }
}

std::vector<Value> collect(Runtime& runtime, const Value& value) {
  if (value.is(Kind::kSequence)) {
    runtime.budget().memory(value.sequence()->items.size() * sizeof(Value));
    return value.sequence()->items;
  }
  std::vector<Value> items;
  const Next next = iterate(runtime, value);
  for (Value item; next(item);) {
    runtime.budget().memory(sizeof(Value));
    items.push_back(item);
  }
  return items;
}

bool contains(Runtime& runtime, const Value& container, const Value& item) {
  if (container.is_text()) {
    if (!item.is_text()) fail("'in <string>' requires string as left operand, not " + std::string(type_name(item)));
    runtime.budget().step(container.text().size() / 64);
    return find_bytes(container.text().view(), item.text().view()) != std::string_view::npos;
  }
  if (container.is(Kind::kDict)) {
    if (!is_hashable(item)) fail("unhashable type: '" + std::string(type_name(item)) + "'");
    return container.dict()->find(runtime.budget(), item) != nullptr;
  }
  if (container.is(Kind::kNone) || container.is_number()) {
    fail("argument of type '" + std::string(type_name(container)) + "' is not iterable");
  }
  const Next next = iterate(runtime, container);
  for (Value other; next(other);) {
    if (equals(runtime.budget(), item, other)) return true;
  }
  return false;
}

}  // namespace inferens::jinja
