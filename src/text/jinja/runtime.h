// What a running template has at hand: its budget, the objects it made, the clock, and the way to call things.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "text/jinja/value.h"

namespace inferens::jinja {

// One per render; not shared between threads.
class Runtime {
 public:
  explicit Runtime(const Clock& clock) : clock_(clock) {}
  Budget& budget() { return budget_; }
  const Clock& clock() const { return clock_; }
  bool autoescape() const { return autoescape_; }
  void set_autoescape(bool on) { autoescape_ = on; }

  // Makes an object that lives until the render ends.
  template <class T, class... Args>
  T* make(Args&&... args) {
    budget_.memory(sizeof(T) + 64);
    auto owned = std::make_unique<T>(std::forward<Args>(args)...);
    T* object = owned.get();
    objects_.push_back(std::move(owned));
    return object;
  }
  Value call(const Value& callee, const Arguments& arguments);

  // How deep C++ itself is in the template. Every recursive step holds one of these.
  class Depth {
   public:
    explicit Depth(Runtime& runtime) : runtime_(runtime) {
      if (++runtime_.depth_ > kMaxEvaluationDepth) {
        --runtime_.depth_;
        fail_limit("the template is nested too deeply while rendering");
      }
    }
    ~Depth() { --runtime_.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

   private:
    Runtime& runtime_;
  };
  // A macro or recursive loop in progress.
  class CallDepth {
   public:
    explicit CallDepth(Runtime& runtime) : runtime_(runtime) {
      if (++runtime_.call_depth_ > kMaxCallDepth) {
        --runtime_.call_depth_;
        fail_limit("macros or loops call themselves more than 64 deep");
      }
    }
    ~CallDepth() { --runtime_.call_depth_; }
    CallDepth(const CallDepth&) = delete;
    CallDepth& operator=(const CallDepth&) = delete;

   private:
    Runtime& runtime_;
  };

 private:
  const Clock& clock_;
  Budget budget_;
  bool autoescape_ = false;
  int depth_ = 0;
  int call_depth_ = 0;
  std::vector<std::unique_ptr<Object>> objects_;
};

// A one-pass stream made by map, select and their like: items are computed when asked for, as Python's generators do.
class Generator final : public Object {
 public:
  explicit Generator(Next next) : next_(std::move(next)) {}
  std::string_view type_name() const override { return "generator"; }
  bool is_iterable() const override { return true; }
  Next iterate(Runtime& runtime) override;

 private:
  Next next_;
  bool running_ = false;
};

// A built-in function, or a method with its object inside the closure.
class Function final : public Object {
 public:
  using Body = std::function<Value(Runtime&, const Arguments&)>;
  explicit Function(Body body) : body_(std::move(body)) {}
  std::string_view type_name() const override { return "builtin_function_or_method"; }
  bool is_callable() const override { return true; }
  Value call(Runtime& runtime, const Arguments& arguments) override { return body_(runtime, arguments); }

 private:
  Body body_;
};

}  // namespace inferens::jinja
