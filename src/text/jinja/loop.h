// The `loop` variable of a for loop.
#pragma once

#include "text/jinja/interpreter.h"

namespace inferens::jinja {

class LoopContext final : public Object {
 public:
  // `items` is walked as the loop runs; `length` is known when the iterable has one.
  LoopContext(Interpreter& interpreter, const Statement& node, Frame& frame, Next items, std::optional<int64_t> length,
              int depth)
      : interpreter_(interpreter),
        node_(node),
        frame_(frame),
        items_(std::move(items)),
        length_(length),
        depth_(depth) {}

  bool advance(Value& item);  // the next item, false at the end

  std::string_view type_name() const override { return "LoopContext"; }
  bool is_callable() const override { return true; }
  bool is_iterable() const override { return true; }
  std::optional<Value> attribute(Runtime& runtime, std::string_view name) override;
  std::optional<int64_t> length(Runtime&) override { return full_length(); }
  // loop(children): the body again, one level deeper; only in a loop marked recursive.
  Value call(Runtime& runtime, const Arguments& arguments) override;

  int64_t index() const { return index0_ + 1; }
  int64_t full_length();

 private:
  bool peek();  // whether there is a next item, kept in after_
  Value make_changed(Runtime& runtime);

  Interpreter& interpreter_;
  const Statement& node_;
  Frame& frame_;
  Next items_;
  std::optional<int64_t> length_;
  int depth_;
  int64_t index0_ = -1;
  Value before_, current_;
  std::optional<Value> after_;
  std::optional<Value> last_changed_;
};

}  // namespace inferens::jinja
