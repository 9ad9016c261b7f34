// Loop state, computed lazily as jinja2's LoopContext does: only `last`, `nextitem` and lengths look ahead.
#include "text/jinja/loop.h"

namespace inferens::jinja {

bool LoopContext::advance(Value& item) {
  if (after_) {
    item = *after_;
    after_.reset();
  } else if (!items_(item)) {
    return false;
  }
  ++index0_;
  before_ = std::move(current_);
  current_ = item;
  return true;
}

bool LoopContext::peek() {
  if (after_) return true;
  Value item;
  if (!items_(item)) return false;
  after_ = std::move(item);
  return true;
}

int64_t LoopContext::full_length() {
  if (length_) return *length_;
  std::vector<Value> rest;
  for (Value item; items_(item);) rest.push_back(item);
  length_ = static_cast<int64_t>(rest.size()) + index() + (after_ ? 1 : 0);
  items_ = [rest = std::move(rest), at = size_t{0}](Value& out) mutable {
    if (at >= rest.size()) return false;
    out = rest[at++];
    return true;
  };
  return *length_;
}

std::optional<Value> LoopContext::attribute(Runtime& runtime, std::string_view name) {
  if (name == "index0") return Value(index0_);
  if (name == "index") return Value(index());
  if (name == "first") return Value(index0_ == 0);
  if (name == "last") return Value(!peek());
  if (name == "length") return Value(full_length());
  if (name == "revindex") return Value(full_length() - index0_);
  if (name == "revindex0") return Value(full_length() - index());
  if (name == "depth") return Value(depth_ + 1);
  if (name == "depth0") return Value(depth_);
  if (name == "previtem") return index0_ == 0 ? Value::undefined("there is no previous item") : before_;
  if (name == "nextitem") return peek() ? *after_ : Value::undefined("there is no next item");
  if (name == "cycle") {
    return Value(runtime.make<Function>([this](Runtime&, const Arguments& arguments) {
      if (arguments.positional.empty() || !arguments.keyword.empty()) fail("no items for cycling given");
      return arguments.positional[static_cast<size_t>(index0_) % arguments.positional.size()];
    }));
  }
  if (name == "changed") return make_changed(runtime);
  return std::nullopt;
}

Value LoopContext::make_changed(Runtime& runtime) {
  return Value(runtime.make<Function>([this](Runtime& r, const Arguments& arguments) {
    if (!arguments.keyword.empty()) fail("changed() takes no keyword arguments");
    const Value now = make_tuple(r.budget(), arguments.positional);
    if (last_changed_ && equals(r.budget(), *last_changed_, now)) return Value(false);
    last_changed_ = now;
    return Value(true);
  }));
}

Value LoopContext::call(Runtime&, const Arguments& arguments) {
  if (!node_.recursive) fail("the loop must have the 'recursive' marker to be called recursively");
  const Value items = arguments.bind("loop", {{"iterable"}})[0];
  return Value(interpreter_.run_recursive_loop(node_, frame_, items, depth_ + 1));
}

}  // namespace inferens::jinja
