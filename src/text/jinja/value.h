// The values of the template language, with Python's meaning. Strings, lists and dicts are immutable and shared
// (Hugging Face's sandbox forbids changing them), so ownership has no cycles; what can change is an Object, owned by
// the render.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/text.h"

namespace inferens::jinja {

class Runtime;
class Value;
class Object;
struct Sequence;
struct Dict;
using SequencePtr = std::shared_ptr<const Sequence>;
using DictPtr = std::shared_ptr<const Dict>;

// The order of the alternatives of Value::Storage.
enum class Kind { kMissing, kUndefined, kNone, kBool, kInt, kFloat, kText, kSequence, kDict, kObject };

class Value {
 public:
  struct Missing {};  // a variable that was never set; never seen by templates
  struct None {};
  using Undefined = std::shared_ptr<const std::string>;  // the message that a use of it raises
  using Storage = std::variant<Missing, Undefined, None, bool, int64_t, double, Text, SequencePtr, DictPtr, Object*>;

  Value() : storage_(None{}) {}
  Value(bool v) : storage_(v) {}                       // NOLINT: implicit by design, here and below
  Value(int64_t v) : storage_(v) {}                    // NOLINT
  Value(int v) : storage_(static_cast<int64_t>(v)) {}  // NOLINT
  Value(double v) : storage_(v) {}                     // NOLINT
  Value(Text v) : storage_(std::move(v)) {}            // NOLINT
  Value(SequencePtr v) : storage_(std::move(v)) {}     // NOLINT
  Value(DictPtr v) : storage_(std::move(v)) {}         // NOLINT
  Value(Object* v) : storage_(v) {}                    // NOLINT
  Value(const char*) = delete;                         // would become bool; say Text::trusted or untrusted
  static Value missing();
  static Value undefined(std::string message);

  Kind kind() const { return static_cast<Kind>(storage_.index()); }
  bool is(Kind k) const { return kind() == k; }
  bool is_none() const { return is(Kind::kNone); }
  bool is_undefined() const { return is(Kind::kUndefined); }
  bool is_text() const { return is(Kind::kText); }
  bool is_number() const { return is(Kind::kBool) || is(Kind::kInt) || is(Kind::kFloat); }
  bool is_integral() const { return is(Kind::kBool) || is(Kind::kInt); }

  bool boolean() const { return std::get<bool>(storage_); }
  int64_t integer() const { return is(Kind::kBool) ? int64_t{boolean()} : std::get<int64_t>(storage_); }
  double number() const { return is(Kind::kFloat) ? std::get<double>(storage_) : static_cast<double>(integer()); }
  const Text& text() const { return std::get<Text>(storage_); }
  const SequencePtr& sequence() const { return std::get<SequencePtr>(storage_); }
  const DictPtr& dict() const { return std::get<DictPtr>(storage_); }
  Object* object() const { return std::get<Object*>(storage_); }
  const std::string& undefined_message() const { return *std::get<Undefined>(storage_); }

  // Whether a number, bool or None was computed from the conversation: its printed form is then not the template's own.
  bool from_input() const { return from_input_; }
  Value marked_input(bool from_input = true) && {
    from_input_ = from_input;
    return std::move(*this);
  }

 private:
  Storage storage_;
  bool from_input_ = false;
};

enum class SequenceKind { kList, kTuple, kRange, kDictKeys, kDictValues, kDictItems, kGroup };

struct Sequence {
  SequenceKind kind = SequenceKind::kList;
  std::vector<Value> items;
  int depth = 1;                          // of nesting, bounded by kMaxValueDepth
  int64_t start = 0, stop = 0, step = 1;  // kRange
};

struct Dict {
  using Entry = std::pair<Value, Value>;
  std::vector<Entry> entries;  // in insertion order
  int depth = 1;
  const Value* find(Budget& budget, const Value& key) const;
  const Value* find(std::string_view key) const;

 private:
  friend class DictBuilder;
  std::unordered_map<std::string_view, size_t> index_;  // text keys; views into entries' texts
};

class DictBuilder {
 public:
  explicit DictBuilder(Budget& budget) : budget_(budget) {}
  void set(Value key, Value value);  // fails on an unhashable key
  DictPtr take();

 private:
  Budget& budget_;
  std::shared_ptr<Dict> dict_ = std::make_shared<Dict>();
};

// Positional and keyword arguments of one call.
struct Parameter {
  std::string_view name;                 // empty: by position only
  std::optional<Value> default_value{};  // none: required
};
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<Text, Value>> keyword;  // a name from **mapping may be the conversation's
  // Values in the order of `parameters`; fails as Python does on missing, doubled and unknown ones.
  std::vector<Value> bind(std::string_view function, std::initializer_list<Parameter> parameters) const;
};

// An argument that must be of a type; fails as Python does.
int64_t integer_argument(const Value& value);
const Text& text_argument(const Value& value);

// Gives the next item, false at the end.
using Next = std::function<bool(Value&)>;

// A value that has identity or state. Owned by the Runtime until the render ends.
class Object {
 public:
  virtual ~Object() = default;
  virtual std::string_view type_name() const = 0;
  virtual std::optional<Value> attribute(Runtime&, std::string_view) { return std::nullopt; }
  virtual bool is_callable() const { return false; }
  virtual Value call(Runtime&, const Arguments&);
  virtual Next iterate(Runtime&);
  virtual bool is_iterable() const { return false; }
  virtual std::optional<int64_t> length(Runtime&) { return std::nullopt; }
};

Value make_list(Budget& budget, std::vector<Value> items, SequenceKind kind = SequenceKind::kList);
Value make_range(Budget& budget, int64_t start, int64_t stop, int64_t step);
inline Value make_tuple(Budget& budget, std::vector<Value> items) {
  return make_list(budget, std::move(items), SequenceKind::kTuple);
}

std::string_view type_name(const Value& value);  // Python's: "str", "int", …
bool truthy(Runtime& runtime, const Value& value);
bool equals(Budget& budget, const Value& a, const Value& b);
// <0, 0, >0; nullopt when a NaN makes every order false; fails on types that Python does not order.
std::optional<int> compare(Budget& budget, const Value& a, const Value& b);
bool is_hashable(const Value& value);
std::optional<int64_t> length_of(Runtime& runtime, const Value& value);  // nullopt: no len()
bool is_iterable(const Value& value);
Next iterate(Runtime& runtime, const Value& value);  // fails on what is not iterable
std::vector<Value> collect(Runtime& runtime, const Value& value);
bool contains(Runtime& runtime, const Value& container, const Value& item);
[[noreturn]] void fail_undefined(const Value& value);

}  // namespace inferens::jinja
